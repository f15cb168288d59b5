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

package bootstrap_test

import (
	"archive/tar"
	"bytes"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

const cloudConfig = `## template: jinja
#cloud-config
write_files:
- path: /run/kubeadm/kubeadm.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: InitConfiguration
    nodeRegistration:
      name: '{{ ds.meta_data.local_hostname }}'
runcmd:
- kubeadm init --config /run/kubeadm/kubeadm.yaml
`

// A machine's data becomes an archive; the node's record becomes a condition's message.
func Example() {
	instance := userdata.Instance{ID: "a1b2", Hostname: "node-1"}
	config, err := bootstrap.Parse([]byte(cloudConfig), "", instance)
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err = config.Adapt()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(config.KubeadmOperation())
	fmt.Printf("%s", config.Files[0].Content)

	archive, err := script.Archive(script.Input{
		Config:       config,
		Instance:     instance,
		KubeletFlags: []string{"--provider-id=container:///node-1"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := tar.NewReader(bytes.NewReader(archive)).Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Name)

	// Later, from a download of record.Path:
	result := record.Result{State: record.Failed, Step: "runcmd[0]", ExitCode: 1, LogTail: "using token abcdef.0123456789abcdef"}
	fmt.Println(result.Message(config.Secrets()...))

	// Output:
	// init
	// apiVersion: kubeadm.k8s.io/v1beta4
	// kind: InitConfiguration
	// nodeRegistration:
	//   name: 'node-1'
	//   ignorePreflightErrors:
	//     - SystemVerification
	//     - Swap
	//     - FileContent--proc-sys-net-bridge-bridge-nf-call-iptables
	// ---
	// apiVersion: kubeproxy.config.k8s.io/v1alpha1
	// kind: KubeProxyConfiguration
	// conntrack:
	//   maxPerCore: 0
	// opt/cluster-api-bootstrap/
	// Bootstrap failed at step runcmd[0] with exit code 1; last lines of the log: using token [redacted]
}
