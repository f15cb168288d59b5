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

package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegistryFiles(t *testing.T) {
	t.Parallel()
	got := RegistryFiles([]Registry{
		{Host: "docker.io", Mirrors: []Mirror{
			{URL: "http://172.18.0.5:5000"},
			{URL: "https://harbor.example.com/v2/hub", CABundle: "PEM\n", Credentials: Credentials{Username: "a", Password: "b"}},
		}},
		{Host: "registry.example.com:5000", CABundle: "PEM\n", Credentials: Credentials{Username: "a", Password: "b"}},
		{Host: AnyRegistry, Mirrors: []Mirror{{URL: "https://cache.example.com"}}},
	})
	want := map[string]string{
		"etc/containerd/certs.d/docker.io/hosts.toml": registryHeader + `[host."http://172.18.0.5:5000"]
capabilities = ["pull", "resolve"]
[host."https://harbor.example.com/v2/hub"]
capabilities = ["pull", "resolve"]
override_path = true
ca = "mirror-1.crt"
[host."https://harbor.example.com/v2/hub".header]
Authorization = "Basic YTpi"
`,
		"etc/containerd/certs.d/docker.io/mirror-1.crt": "PEM\n",
		"etc/containerd/certs.d/registry.example.com:5000/hosts.toml": registryHeader + `ca = "ca.crt"
[header]
Authorization = "Basic YTpi"
`,
		"etc/containerd/certs.d/registry.example.com:5000/ca.crt": "PEM\n",
		"etc/containerd/certs.d/_default/hosts.toml": registryHeader + `[host."https://cache.example.com"]
capabilities = ["pull", "resolve"]
`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestStaleRegistryFiles(t *testing.T) {
	t.Parallel()
	present := RegistryFiles([]Registry{{Host: "a.example"}, {Host: "b.example"}})
	present["etc/containerd/certs.d/c.example/hosts.toml"] = "server = \"https://c.example\"\n"
	got := StaleRegistryFiles(present, RegistryFiles([]Registry{{Host: "b.example"}}))
	if diff := cmp.Diff([]string{"/etc/containerd/certs.d/a.example"}, got); diff != "" {
		t.Errorf("what the user wrote stays, and what is wanted (-want +got):\n%s", diff)
	}
}
