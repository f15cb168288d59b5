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

package manager

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/ignition"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var update = flag.Bool("update", false, "write what the bootstrap provider emits to the test data of internal/bootstrap")

// TestIgnitionTestdata keeps the test data of internal/bootstrap, which knows
// nothing of Cluster API, what the kubeadm bootstrap provider really emits.
func TestIgnitionTestdata(t *testing.T) {
	t.Parallel()
	base := cloudinit.BaseUserData{
		PreKubeadmCommands:  []string{"echo before kubeadm", "cat <<EOF >/etc/pre\nit's here: 50%\nEOF\n"},
		PostKubeadmCommands: []string{"echo after kubeadm"},
		Users: []bootstrapv1.User{{
			Name: "joe", Gecos: "Joe D", Groups: "sudo, docker", HomeDir: "/srv/joe", Shell: "/bin/bash",
			Passwd: "$6$salt$hashhash", Sudo: "ALL=(ALL) NOPASSWD:ALL",
			SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA joe@example"},
		}},
		AdditionalFiles: []bootstrapv1.File{
			{Path: "/etc/encoded", Encoding: bootstrapv1.Base64, Content: "AAH/w7wK", Permissions: "0600", Owner: "joe:joe"},
			{Path: "/etc/plain", Content: "plain\n", Permissions: "0644"},
		},
	}
	initial, _, err := ignition.NewInitControlPlane(&ignition.ControlPlaneInput{
		ControlPlaneInput: &cloudinit.ControlPlaneInput{
			BaseUserData:         base,
			ClusterConfiguration: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: demo\n",
			InitConfiguration:    "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration: {}\n",
		},
	})
	must.Succeed(t, err)
	join, _, err := ignition.NewNode(&ignition.NodeInput{
		NodeInput: &cloudinit.NodeInput{
			JoinConfiguration: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n",
		},
		Ignition: &bootstrapv1.IgnitionSpec{ContainerLinuxConfig: bootstrapv1.ContainerLinuxConfig{AdditionalConfig: `
systemd:
  units:
  - name: kubeadm.service
    dropins:
    - name: 10-after.conf
      contents: |
        [Unit]
        Requires=containerd.service
        After=containerd.service
  - name: unwanted.service
    mask: true
storage:
  directories:
  - {filesystem: root, path: /srv/data/deep, mode: 0750, user: {id: 7}}
  - {filesystem: root, path: /srv/data, mode: 0755}
  files:
  - {filesystem: root, path: /etc/append, append: true, contents: {inline: more}}
  links:
  - {filesystem: root, path: /etc/link, target: /srv/data, overwrite: true}
`}},
	})
	must.Succeed(t, err)
	for operation, data := range map[userdata.KubeadmOperation][]byte{userdata.KubeadmInit: initial, userdata.KubeadmJoinWorker: join} {
		var pretty bytes.Buffer
		must.Succeed(t, json.Indent(&pretty, data, "", "  "))
		pretty.WriteByte('\n')
		file := filepath.Join("..", "..", "bootstrap", "testdata", "archive", "ignition-"+string(operation)+".json")
		if *update {
			must.Succeed(t, os.WriteFile(file, pretty.Bytes(), 0o644))
		}
		want := must.Get(os.ReadFile(file))(t)
		if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
			t.Errorf("%s is not what the bootstrap provider emits (-file +emitted; go test -update writes it):\n%s", file, diff)
		}
		config, err := bootstrap.Parse(data, userdata.FormatIgnition, userdata.Instance{})
		if err != nil {
			t.Errorf("Parse(): %v", err)
		}
		if got := config.KubeadmOperation(); got != operation {
			t.Errorf("kubeadm will %q, want %q", got, operation)
		}
	}
}
