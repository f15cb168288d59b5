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

package userdata_test

import (
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const hashed = `#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    discovery:
      bootstrapToken:
        apiServerEndpoint: 172.18.0.9:6443
        caCertHashes:
        - sha256:1111
        token: abcdef.0123456789abcdef
    nodeRegistration:
      kubeletExtraArgs:
      - name: max-pods
        value: "50"
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml
`

func hashOf(t *testing.T, data string) string {
	t.Helper()
	return must.Get(must.Get(bootstrap.Parse([]byte(data), "", userdata.Instance{}))(t).Hash())(t)
}

func TestHash(t *testing.T) {
	t.Parallel()
	const want = "1-de12d7047260d9c1"
	cases := map[string]struct {
		reason   string
		old, new string
		same     bool
	}{
		"Token":    {"Bootstrap providers renew it.", "abcdef.0123456789abcdef", "fedcba.9876543210fedcba", true},
		"CA":       {"It is renewed with the cluster's.", "sha256:1111", "sha256:2222", true},
		"File":     {"It finds the cluster.", "bootstrapToken:", "file: {kubeConfigPath: /x}\n      bootstrapToken:", true},
		"Kubelet":  {"The node is another one.", `"50"`, `"60"`, false},
		"Command":  {"The node is another one.", "runcmd:\n", "runcmd:\n- touch /tmp/x\n", false},
		"Password": {"It could be guessed from the hash.", "runcmd:\n", "users:\n- name: me\n  plain_text_passwd: secret\nruncmd:\n", false},
	}
	before := hashOf(t, hashed)
	// Where this changes, change the version in the hash: otherwise an upgrade replaces all instances of all pools.
	if before != want {
		t.Errorf("the hash is %s, want %s", before, want)
	}
	if !userdata.SameVersion(before, want) || userdata.SameVersion(before, "0-"+want) {
		t.Error("only hashes of the same version can be compared")
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if after := hashOf(t, strings.Replace(hashed, c.old, c.new, 1)); (after == before) != c.same {
				t.Errorf("%s The hash was %s and is %s", c.reason, before, after)
			}
		})
	}
}
