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

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestUseServerOf(t *testing.T) {
	const kubeconfig = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: %q}}]\n"
	cases := map[string]struct {
		reason  string
		content string
		host    string
		port    string
		failed  bool
	}{
		"Endpoint":  {"Kubeadm writes the control plane endpoint.", "https://172.18.0.9:6443", "172.18.0.9", "6443", false},
		"IPv6":      {"Brackets are not part of the host.", "https://[fd00::1]:6443", "fd00::1", "6443", false},
		"NoPort":    {"It is the one of HTTPS.", "https://api.example.com", "api.example.com", "443", false},
		"NoHost":    {"The Service's address is left.", "%zz", "10.0.0.1", "443", true},
		"Empty":     {"The kubelet creates what is not there.", "", "10.0.0.1", "443", false},
		"NotThere":  {"Not every node is kubeadm's.", "-", "10.0.0.1", "443", false},
		"Malformed": {"It is reported.", "{", "10.0.0.1", "443", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			path := filepath.Join(t.TempDir(), "kubelet.conf")
			write := func(content string) {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			switch tc.content {
			case "-":
			case "", "{":
				write(tc.content)
			default:
				write(fmt.Sprintf(kubeconfig, tc.content))
			}
			err := useServerOf(path)
			host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
			if host != tc.host || port != tc.port || (err != nil) != tc.failed {
				t.Errorf("%s Got %s, %s, %v", tc.reason, host, port, err)
			}
		})
	}
}
