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

package clusterfile

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const header = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n"

// TestConvert has the examples of kind's documentation, in words of our own.
func TestConvert(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, file, want string }{
		"nothing": {"The control plane takes Pods.", "", `
spec:
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1}
    variables:
    - {name: allowSchedulingOnControlPlanes, value: true}
    - {name: cni, value: default}
`},
		"high availability": {"Equal nodes are replicas.", `
name: ha
nodes:
- {role: control-plane, image: "kindest/node:v1.36.3"}
- role: control-plane
- role: control-plane
- role: worker
- role: worker
`, `
metadata: {name: ha}
spec:
  topology:
    classRef: {name: ""}
    version: v1.36.3
    controlPlane: {replicas: 3}
    workers: {machineDeployments: [{class: worker, name: worker, replicas: 2}]}
    variables: [{name: cni, value: default}]
`},
		"ingress": {"The load balancer keeps the ports when the control plane is replaced.", `
nodes:
- role: control-plane
  kubeadmConfigPatches:
  - |
    kind: InitConfiguration
    nodeRegistration:
      kubeletExtraArgs:
        node-labels: "ingress-ready=true"
  extraPortMappings:
  - {containerPort: 80, hostPort: 8080, protocol: TCP}
  - {containerPort: 443, hostPort: 8443, listenAddress: 127.0.0.1}
`, `
spec:
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1, variables: {overrides: [{name: nodeLabels, value: {ingress-ready: "true"}}]}}
    variables:
    - {name: allowSchedulingOnControlPlanes, value: true}
    - {name: cni, value: default}
    - name: loadBalancer
      value: {portMappings: [{containerPort: 80, hostPort: 8080, address: 0.0.0.0}, {containerPort: 443, hostPort: 8443, address: 127.0.0.1}]}
`},
		"workers": {"Unequal ones are several deployments, and one with a host port is deleted first.", `
nodes:
- role: control-plane
- role: worker
  labels: {tier: frontend}
- role: worker
  extraMounts: [{hostPath: /srv, containerPath: /data, readOnly: true, propagation: HostToContainer}]
  extraPortMappings: [{containerPort: 30080, hostPort: 8080, protocol: UDP}]
- role: worker
  labels: {tier: frontend}
`, `
spec:
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1}
    workers:
      machineDeployments:
      - {class: worker, name: worker, replicas: 2, variables: {overrides: [{name: nodeLabels, value: {tier: frontend}}]}}
      - class: worker
        name: worker-2
        replicas: 1
        rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}
        variables:
          overrides:
          - {name: extraMounts, value: [{hostPath: /srv, containerPath: /data, readOnly: true, propagation: HostToContainer}]}
          - {name: portMappings, value: [{containerPort: 30080, hostPort: 8080, address: 0.0.0.0, protocol: UDP}]}
    variables: [{name: cni, value: default}]
`},
		"networking": {"All fields have a place.", `
networking:
  ipFamily: ipv4
  apiServerAddress: 192.0.2.1
  apiServerPort: 6444
  podSubnet: 10.240.0.0/16
  serviceSubnet: 10.0.0.0/16
  disableDefaultCNI: true
  kubeProxyMode: nftables
  dnsSearch: []
nodes: [{role: control-plane}, {role: worker}]
`, `
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.240.0.0/16]}, services: {cidrBlocks: [10.0.0.0/16]}}
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: worker, name: worker, replicas: 1}]}
    variables:
    - {name: apiServer, value: {certSANs: [localhost, 192.0.2.1]}}
    - {name: cni, value: none}
    - {name: dnsSearch, value: ["."]}
    - {name: kubeProxy, value: {mode: nftables}}
    - {name: loadBalancer, value: {hostPort: 6444, hostAddress: 192.0.2.1}}
`},
		"feature gates": {"All components have them.", `
featureGates: {B: false, A: true}
runtimeConfig: {api/alpha: "true"}
nodes: [{role: control-plane}, {role: worker}]
`, `
spec:
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: worker, name: worker, replicas: 1}]}
    variables:
    - {name: apiServer, value: {extraArgs: [{name: feature-gates, value: "A=true,B=false"}, {name: runtime-config, value: api/alpha=true}]}}
    - {name: cni, value: default}
    - {name: controllerManager, value: {extraArgs: [{name: feature-gates, value: "A=true,B=false"}]}}
    - {name: kubeProxy, value: {featureGates: {A: true, B: false}}}
    - {name: kubelet, value: {featureGates: {A: true, B: false}}}
    - {name: scheduler, value: {extraArgs: [{name: feature-gates, value: "A=true,B=false"}]}}
`},
		"patches of kubeadm": {"Both versions, both forms, of all kinds.", `
kubeadmConfigPatches:
- |
  apiVersion: kubeadm.k8s.io/v1beta3
  kind: ClusterConfiguration
  metadata: {name: config}
  networking: {dnsDomain: other.local}
  apiServer:
    extraArgs: {audit-log-path: /var/log/audit.log}
    extraVolumes: [{name: audit, hostPath: /a, mountPath: /b, readOnly: true, pathType: File}]
- |
  apiVersion: kubeadm.k8s.io/v1beta4
  kind: ClusterConfiguration
  apiServer:
    extraArgs: [{name: v, value: "4"}]
  etcd: {local: {extraArgs: [{name: snapshot-count, value: "5000"}]}}
  ---
  kind: JoinConfiguration
  nodeRegistration:
    kubeletExtraArgs: {node-labels: "a=b,c=d", v: "2"}
    taints: [{key: k, value: v, effect: NoSchedule}]
  ---
  kind: KubeletConfiguration
  apiVersion: kubelet.config.k8s.io/v1beta1
  maxPods: 200
- |
  kind: KubeProxyConfiguration
  conntrack: {maxPerCore: 0}
kubeadmConfigPatchesJSON6902:
- group: kubeadm.k8s.io
  version: v1beta3
  kind: ClusterConfiguration
  patch: |
    - {op: add, path: /apiServer/certSANs/-, value: my-host}
    - {op: add, path: /scheduler/extraArgs/v, value: "3"}
nodes:
- role: control-plane
- role: worker
  labels: {c: node}
  kubeadmConfigPatches: ["{kind: KubeletConfiguration, maxPods: 100}"]
`, `
spec:
  clusterNetwork: {serviceDomain: other.local}
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1}
    workers:
      machineDeployments:
      - class: worker
        name: worker
        replicas: 1
        variables:
          overrides:
          - {name: kubelet, value: {maxPods: 100}}
          - {name: kubeletExtraArgs, value: [{name: v, value: "2"}]}
          - {name: nodeLabels, value: {a: b, c: d}}
          - {name: nodeTaints, value: [{key: k, value: v, effect: NoSchedule}]}
    variables:
    - name: apiServer
      value:
        certSANs: [localhost, 127.0.0.1, my-host]
        extraArgs: [{name: audit-log-path, value: /var/log/audit.log}, {name: v, value: "4"}]
        extraVolumes: [{name: audit, hostPath: /a, mountPath: /b, readOnly: true, pathType: File}]
    - {name: cni, value: default}
    - {name: etcd, value: {extraArgs: [{name: snapshot-count, value: "5000"}]}}
    - {name: kubeProxy, value: {conntrack: {maxPerCore: 0}}}
    - {name: kubelet, value: {maxPods: 200}}
    - {name: scheduler, value: {extraArgs: [{name: v, value: "3"}]}}
`},
		"taints": {"Those of a patch replace kubeadm's own.", `
kubeadmConfigPatches: ["{kind: InitConfiguration, nodeRegistration: {taints: [{key: k, value: v, effect: NoSchedule}]}}"]
nodes: [{role: control-plane}, {role: worker}]
`, `
spec:
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1, variables: {overrides: [{name: nodeTaints, value: [{key: k, value: v, effect: NoSchedule}]}]}}
    workers: {machineDeployments: [{class: worker, name: worker, replicas: 1}]}
    variables:
    - {name: allowSchedulingOnControlPlanes, value: true}
    - {name: cni, value: default}
`},
		"no taints": {"An empty list removes kubeadm's own.", `
nodes:
- role: control-plane
  kubeadmConfigPatches: ["{kind: InitConfiguration, nodeRegistration: {taints: []}}"]
- role: worker
`, `
spec:
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: worker, name: worker, replicas: 1}]}
    variables:
    - {name: allowSchedulingOnControlPlanes, value: true}
    - {name: cni, value: default}
`},
		"containerd": {"JSON that sets fields is a merge patch too.", `
containerdConfigPatches:
- |-
  [plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"
containerdConfigPatchesJSON6902:
- '[{"op": "add", "path": "/plugins/io.containerd.grpc.v1.cri/device_ownership_from_security_context", "value": true}]'
nodes: [{role: control-plane}, {role: worker}]
`, `
spec:
  topology:
    classRef: {name: ""}
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: worker, name: worker, replicas: 1}]}
    variables:
    - {name: cni, value: default}
    - name: containerdConfigPatches
      value:
      - |-
        [plugins."io.containerd.grpc.v1.cri".registry]
        config_path = "/etc/containerd/certs.d"
      - |
        [plugins]
          [plugins."io.containerd.grpc.v1.cri"]
            device_ownership_from_security_context = true
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, _, err := convert(header + tc.file)
			if err != nil {
				t.Fatalf("%s Got: %v", tc.reason, err)
			}
			want := &clusterv1.Cluster{}
			if err := yaml.UnmarshalStrict([]byte(tc.want), want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(generic(t, want), generic(t, cluster)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// generic is a Cluster whose variables can be compared.
func generic(t *testing.T, cluster *clusterv1.Cluster) (fields map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(cluster)
	if err == nil {
		err = yaml.Unmarshal(text, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	return fields
}

// TestPatchOfList: kubeadm v1beta4 has lists of arguments, also those of a worker.
func TestPatchOfList(t *testing.T) {
	t.Parallel()
	cluster, _, err := convert(header + `
kubeadmConfigPatchesJSON6902:
- {group: kubeadm.k8s.io, version: v1beta4, kind: ClusterConfiguration, patch: '[{"op": "add", "path": "/apiServer/extraArgs/-", "value": {"name": "event-ttl", "value": "2h"}}]'}
nodes:
- role: control-plane
- role: worker
  kubeadmConfigPatchesJSON6902:
  - {group: kubeadm.k8s.io, version: v1beta4, kind: JoinConfiguration, patch: '[{"op": "add", "path": "/nodeRegistration/kubeletExtraArgs/-", "value": {"name": "v", "value": "4"}}]'}
`)
	must.Succeed(t, err)
	topology := cluster.Spec.Topology
	all := slices.Concat(topology.Variables, topology.Workers.MachineDeployments[0].Variables.Overrides)
	got := map[string]string{}
	for _, variable := range all {
		got[variable.Name] = string(variable.Value.Raw)
	}
	want := map[string]string{
		"apiServer": `{"extraArgs":[{"name":"event-ttl","value":"2h"}]}`, "kubeletExtraArgs": `[{"name":"v","value":"4"}]`, "cni": `"default"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func convert(text string) (*clusterv1.Cluster, string, error) {
	f, err := parse("kind.yaml", []byte(text))
	if err != nil {
		return nil, "", err
	}
	return f.convertKind([]byte(text))
}

func TestRelativeMount(t *testing.T) {
	t.Parallel()
	cluster, _, err := convert(header + "nodes:\n- extraMounts: [{hostPath: data, containerPath: /data}]\n")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := filepath.Abs("data")
	if got := string(cluster.Spec.Topology.ControlPlane.Variables.Overrides[0].Value.Raw); !strings.Contains(got, `"`+want+`"`) {
		t.Errorf("mounts %s, want those of %s", got, want)
	}
}
