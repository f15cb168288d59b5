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

package daemon

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNetworkURL(t *testing.T) {
	t.Parallel()
	loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for name, test := range map[string]struct {
		listens   string
		addresses []net.IP
		want      string
	}{
		"every address":                    {"0.0.0.0", append(loopback, net.IPv4(172, 18, 0, 2), net.IPv4(172, 19, 0, 2)), "https://172.18.0.2:6443"},
		"every address, IPv6":              {"::", append(loopback, net.ParseIP("fd00::2")), "https://[fd00::2]:6443"},
		"one address":                      {"192.0.2.1", append(loopback, net.IPv4(172, 18, 0, 2)), "https://192.0.2.1:6443"},
		"a host with loopback only":        {"0.0.0.0", loopback, "https://127.0.0.1:6443"},
		"loopback, where there are others": {"127.0.0.1", append(loopback, net.IPv4(172, 18, 0, 2)), "https://127.0.0.1:6443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := &identity{opts: Options{APIAddress: test.listens, Ports: DefaultPorts()}, addresses: test.addresses}
			if diff := cmp.Diff(test.want, id.networkURL()); diff != "" {
				t.Errorf("networkURL(): -want, +got:\n%s", diff)
			}
		})
	}
}
