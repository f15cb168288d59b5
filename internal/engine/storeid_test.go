/*
Copyright 2026 The cluster-api-provider-container Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package engine

import "testing"

func TestStoreID(t *testing.T) {
	t.Parallel()
	const (
		root   = "/var/lib/containers/storage"
		socket = "unix:///run/podman/podman.sock"
	)
	type store struct{ clientOS, host, directory, endpoint string }
	cases := map[string]struct {
		reason string
		a, b   store
		same   bool
	}{
		"Sockets":         {"Docker's and Podman's socket lead to one store.", store{"linux", "h", root, socket}, store{"linux", "h", root, "unix:///var/run/docker.sock"}, true},
		"Rootless":        {"A user's store is not root's.", store{"linux", "h", root, socket}, store{"linux", "h", "/home/u/.local/share/containers/storage", socket}, false},
		"Hosts":           {"A home directory may be shared by hosts.", store{"linux", "h", root, socket}, store{"linux", "i", root, socket}, false},
		"Machines":        {"Virtual machines have the same name and directory.", store{"linux", "localhost", root, "ssh://core@127.0.0.1:1/s"}, store{"linux", "localhost", root, "ssh://core@127.0.0.1:2/s"}, false},
		"MachinesOfMacOS": {"Their sockets are files of the Mac.", store{"darwin", "localhost", root, "unix:///a.sock"}, store{"darwin", "localhost", root, "unix:///b.sock"}, false},
	}
	for name, tc := range cases {
		a := storeID(tc.a.clientOS, tc.a.host, tc.a.directory, tc.a.endpoint)
		b := storeID(tc.b.clientOS, tc.b.host, tc.b.directory, tc.b.endpoint)
		if (a == b) != tc.same {
			t.Errorf("%s: %s Got %s and %s", name, tc.reason, a, b)
		}
	}
}
