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

package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches/inline"

	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Each variable reaches the templates it is meant for, and no others.
func TestClusterClassPatches(t *testing.T) {
	t.Parallel()
	const (
		clusterKind  = "ContainerClusterTemplate container"
		controlPlane = "KubeadmControlPlaneTemplate container-control-plane"
		first        = "ContainerMachineTemplate container-control-plane"
		workers      = "ContainerMachineTemplate container-worker"
		pool         = "ContainerMachinePoolTemplate container-worker"
	)
	mount := `[{"containerPath":"/a","hostPath":"/b","readOnly":false}]`
	variables, devices := `[{"name":"A","value":"b"}]`, `[{"path":"/dev/fuse"},{"name":"vendor.com/class=name"}]`
	cases := map[string]struct {
		reason string
		given  values
		// want is what is added, by template and path in its spec.template.spec.
		want map[string]values
	}{
		"load balancer": {"It is the cluster's.", values{"loadBalancer": `{"type":"None"}`}, map[string]values{clusterKind: {"loadBalancer": `{"type":"None"}`}}},
		"balancer's image": {
			"It is the one that was named.", values{"loadBalancer": `{"type":"HAProxy","image":"r.example/haproxy:3.2"}`},
			map[string]values{clusterKind: {"loadBalancer": `{"type":"HAProxy","image":"r.example/haproxy:3.2"}`}},
		},
		"more ports": {
			"They are those that were named.", values{"loadBalancer": `{"type":"HAProxy","additionalPorts":[8132,9345]}`},
			map[string]values{clusterKind: {"loadBalancer": `{"type":"HAProxy","additionalPorts":[8132,9345]}`}},
		},
		"host ports": {
			"They are those that were named.",
			values{"loadBalancer": `{"type":"HAProxy","hostPort":6444,"hostAddress":"0.0.0.0","portMappings":[{"containerPort":80,"hostPort":8080}]}`},
			map[string]values{clusterKind: {"loadBalancer": `{"type":"HAProxy","hostPort":6444,"hostAddress":"0.0.0.0","portMappings":[{"containerPort":80,"hostPort":8080}]}`}},
		},
		"search domains": {
			"All nodes have them.", values{"dnsSearch": `["a.example"]`},
			map[string]values{first: {"dnsSearch": `["a.example"]`}, workers: {"dnsSearch": `["a.example"]`}, pool: {"template.spec.dnsSearch": `["a.example"]`}},
		},
		"no image of the balancer": {
			"The provider has one.", values{"loadBalancer": `{"type":"HAProxy","image":""}`},
			map[string]values{clusterKind: {"loadBalancer": `{"type":"HAProxy"}`}},
		},
		"network":            {"It is the cluster's.", values{"network": `{"name":"x"}`}, map[string]values{clusterKind: {"network": `{"name":"x"}`}}},
		"subnet":             {"It is the cluster's.", values{"network": `{"name":"","subnet":"fd00:1::/64"}`}, map[string]values{clusterKind: {"network": `{"subnet":"fd00:1::/64"}`}}},
		"network by default": {"The provider chooses it.", values{"network": `{"name":""}`}, nil},
		"storage":            {"It is the cluster's.", values{"storage": `{"type":"None"}`}, map[string]values{clusterKind: {"storage": `{"type":"None"}`}}},
		"load balancers of Services": {
			"They are the cluster's.", values{"serviceLoadBalancer": `{"type":"None"}`},
			map[string]values{clusterKind: {"serviceLoadBalancer": `{"type":"None"}`}},
		},
		"roleResources": {
			"They are the cluster's.", values{"roleResources": `{"workers":{"cpu":"2","memory":"4Gi"}}`},
			map[string]values{clusterKind: {"resources": `{"workers":{"cpu":"2","memory":"4Gi"}}`}},
		},
		"registries": {
			"They are the cluster's.", values{"registries": `[{"host":"a.example","mirrors":[{"url":"http://10.0.0.5:5000"}]}]`},
			map[string]values{clusterKind: {"registries": `[{"host":"a.example","mirrors":[{"url":"http://10.0.0.5:5000"}]}]`}},
		},
		"images":   {"They are the cluster's.", values{"images": `["app:dev"]`}, map[string]values{clusterKind: {"images": `["app:dev"]`}}},
		"engine":   {"It is the cluster's.", values{"engineName": `"build"`}, map[string]values{clusterKind: {"engineName": `"build"`}}},
		"owner ID": {"It is the cluster's.", values{"ownerID": `"x"`}, map[string]values{clusterKind: {"ownerID": `"x"`}}},
		"failure domains": {
			"They are the cluster's.", values{"failureDomains": `[{"name":"a","controlPlane":true}]`},
			map[string]values{clusterKind: {"failureDomains": `[{"name":"a","controlPlane":true}]`}},
		},
		"image in an upgrade": {
			"Each machine has the image of its own version: the control plane goes first.",
			values{"nodeImages": `{"v1.35.4":"old","v1.36.3":"new"}`},
			map[string]values{first: {"image": `"new"`}, workers: {"image": `"old"`}, pool: {"template.spec.image": `"old"`}},
		},
		"image of one version": {
			"Where none is named the provider knows one.", values{"nodeImages": `{"v1.36.3":"new"}`},
			map[string]values{first: {"image": `"new"`}},
		},
		"empty image": {"It is as if there were none.", values{"nodeImages": `{"v1.35.4":"","v1.36.3":""}`}, nil},
		"no cni":      {"It is as if nothing were said.", values{"cni": `"none"`}, nil},
		"cni": {
			"Its manifest names the ranges of the cluster.", values{"cni": `"default"`},
			map[string]values{controlPlane: {
				"kubeadmConfigSpec.postKubeadmCommands": `["until sed 's|[{][{] *[.]PodSubnet *[}][}]|192.168.0.0/16,fd00:40::/48|' /kind/manifests/default-cni.yaml | ` +
					`kubectl --kubeconfig /etc/kubernetes/admin.conf apply --filename -; do sleep 1; done"]`,
			}},
		},
		"mounts": {
			"All nodes have them.", values{"extraMounts": mount},
			map[string]values{first: {"extraMounts": mount}, workers: {"extraMounts": mount}, pool: {"template.spec.extraMounts": mount}},
		},
		"ports": {
			"All nodes have them.", values{"portMappings": `[{"containerPort":30080}]`},
			map[string]values{
				first: {"portMappings": `[{"containerPort":30080}]`}, workers: {"portMappings": `[{"containerPort":30080}]`},
				pool: {"template.spec.portMappings": `[{"containerPort":30080}]`},
			},
		},
		"environment": {
			"All nodes have it.", values{"environment": variables},
			map[string]values{first: {"environment": variables}, workers: {"environment": variables}, pool: {"template.spec.environment": variables}},
		},
		"labels": {
			"All containers of nodes have them.", values{"labels": `{"a":"b"}`},
			map[string]values{first: {"labels": `{"a":"b"}`}, workers: {"labels": `{"a":"b"}`}, pool: {"template.spec.labels": `{"a":"b"}`}},
		},
		"devices": {
			"All nodes have them.", values{"devices": devices},
			map[string]values{first: {"devices": devices}, workers: {"devices": devices}, pool: {"template.spec.devices": devices}},
		},
		"Pods on control planes": {
			"kubeadm adds no taint.", values{"allowSchedulingOnControlPlanes": `true`},
			map[string]values{controlPlane: {
				"kubeadmConfigSpec.initConfiguration.nodeRegistration.taints": `[]`, "kubeadmConfigSpec.joinConfiguration.nodeRegistration.taints": `[]`,
			}},
		},
		"no Pods on control planes": {"kubeadm adds its taint.", values{"allowSchedulingOnControlPlanes": `false`}, map[string]values{}},
		"rollout by expiry": {
			"Nothing else rolls out certificates.", values{"rolloutBefore": `{"certificatesExpiryDays":30}`},
			map[string]values{controlPlane: {"rollout": `{"before":{"certificatesExpiryDays":30}}`}},
		},
		"pod security": {
			"The API server reads it from a file.", values{"podSecurity": `{"enforce":"baseline","audit":"restricted","warn":"privileged"}`},
			map[string]values{controlPlane: {
				"kubeadmConfigSpec.files.-": `{"path":"/etc/kubernetes/pod-security.yaml","owner":"root:root","permissions":"0600","content":` +
					`"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n  - name: PodSecurity\n    configuration:\n` +
					`      apiVersion: pod-security.admission.config.k8s.io/v1\n      kind: PodSecurityConfiguration\n      defaults:\n` +
					`        enforce: baseline\n        enforce-version: latest\n        audit: restricted\n        audit-version: latest\n` +
					`        warn: privileged\n        warn-version: latest\n      exemptions:\n        namespaces: [kube-system]\n"}`,
				"kubeadmConfigSpec.clusterConfiguration.apiServer": `{"extraArgs":[{"name":"admission-control-config-file",` +
					`"value":"/etc/kubernetes/pod-security.yaml"}],"extraVolumes":[{"name":"pod-security","hostPath":"/etc/kubernetes/pod-security.yaml",` +
					`"mountPath":"/etc/kubernetes/pod-security.yaml","readOnly":true,"pathType":"File"}]}`,
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkPatches(t, tc.reason, tc.given, tc.want)
		})
	}
}

// checkPatches compares what the class makes of values with what it makes of none.
func checkPatches(t *testing.T, reason string, given values, want map[string]values) {
	t.Helper()
	class, parts := clusterClass(t)
	wanted := patched(t, class, parts, values{})
	for name, changes := range want {
		for path, value := range changes {
			change := decoded(t, value)
			fields := append([]string{"spec", "template", "spec"}, strings.Split(path, ".")...)
			if last := len(fields) - 1; fields[last] == "-" { // the end of a list
				fields = fields[:last]
				list, _, err := unstructured.NestedSlice(wanted[name], fields...)
				must.Succeed(t, err)
				change = slices.Concat(list, []any{change})
			}
			must.Succeed(t, unstructured.SetNestedField(wanted[name], change, fields...))
		}
	}
	if diff := cmp.Diff(wanted, patched(t, class, parts, given)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

// What the variable cni makes of the manifest in the node image is what the
// manifest is meant to become, also after the bootstrap data was rendered.
func TestClusterClassRendersCNI(t *testing.T) {
	t.Parallel()
	class, parts := clusterClass(t)
	got := patched(t, class, parts, values{"cni": `"default"`})["KubeadmControlPlaneTemplate container-control-plane"]
	commands, _, err := unstructured.NestedStringSlice(got, "spec", "template", "spec", "kubeadmConfigSpec", "postKubeadmCommands")
	if err != nil || len(commands) != 1 {
		t.Fatalf("The commands are %q, %v", commands, err)
	}
	if diff := cmp.Diff(podNetwork(t, "192.168.0.0/16,fd00:40::/48"), applied(t, commands[0])); diff != "" {
		t.Errorf("What is applied (-want +got):\n%s", diff)
	}
}

// The flavors apply the same manifest, unless it is disabled.
func TestFlavorsInstallThePodNetwork(t *testing.T) {
	t.Parallel()
	flavors, err := filepath.Glob(filepath.Join(root, "templates", "cluster-template*.yaml"))
	if err != nil || len(flavors) < 2 {
		t.Fatalf("templates: %v, %v", flavors, err)
	}
	for _, flavor := range flavors {
		text := readFile(t, "templates/"+filepath.Base(flavor))
		for choice, want := range map[string]string{"default": podNetwork(t, "10.244.0.0/16"), "none": ""} {
			t.Run(filepath.Base(flavor)+"/"+choice, func(t *testing.T) {
				t.Parallel()
				got := "the flavor says nothing of it"
				for _, object := range clusterctl.Decode(t, []byte(fillIn(t, strings.ReplaceAll(text, "${CONTAINER_CNI:=default}", choice)))) {
					variables, _, _ := unstructured.NestedSlice(object.Object, "spec", "topology", "variables")
					if slices.ContainsFunc(variables, func(variable any) bool {
						return cmp.Equal(variable, any(map[string]any{"name": "cni", "value": choice}))
					}) {
						return // The class does it.
					}
					commands, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "kubeadmConfigSpec", "postKubeadmCommands")
					if len(commands) == 1 {
						got = applied(t, commands[0])
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("What is applied (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// podNetwork is the manifest in our node images for ranges of Pod addresses.
func podNetwork(t *testing.T, subnets string) string {
	t.Helper()
	var manifest strings.Builder
	must.Succeed(t, template.Must(template.New("").Parse(templates.Flannel)).Execute(&manifest, map[string]string{"PodSubnet": subnets}))
	return manifest.String()
}

// refusesOnce is a kubectl that reaches no API server at first, and then prints what it
// gets.
const refusesOnce = `#!/bin/sh
if [ ! -e "$0.asked" ]; then
  touch "$0.asked"
  echo "connect: connection refused" >&2
  exit 1
fi
cat
`

// applied returns what a command of a node gives kubectl to apply.
func applied(t *testing.T, command string) string {
	t.Helper()
	if strings.Contains(command, "{{") {
		t.Errorf("Jinja would read the command: %s", command)
	}
	manifest := filepath.Join(t.TempDir(), "cni.yaml")
	must.Succeed(t, os.WriteFile(manifest, []byte(templates.Flannel), 0o600))
	kubectl := filepath.Join(filepath.Dir(manifest), "kubectl")
	if err := os.WriteFile(kubectl, []byte(refusesOnce), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	script := strings.NewReplacer("/kind/manifests/default-cni.yaml", manifest, "kubectl ", kubectl+" ").Replace(command)
	rendered, err := exec.CommandContext(t.Context(), "sh", "-c", script).Output()
	if err != nil {
		t.Fatalf("run %s: %v", script, err)
	}
	return string(rendered)
}

// holders say where the templates are used, in a cluster whose control plane
// has been upgraded and whose workers have not.
func holders() map[string]runtimehooksv1.GeneratePatchesRequestItem {
	item := func(kind, field, builtin string) runtimehooksv1.GeneratePatchesRequestItem {
		return runtimehooksv1.GeneratePatchesRequestItem{
			HolderReference: runtimehooksv1.HolderReference{Kind: kind, FieldPath: field},
			Variables: []runtimehooksv1.Variable{{
				Name: "builtin", Value: apiextensionsv1.JSON{Raw: []byte(builtin)},
			}},
		}
	}
	const (
		controlPlane = `{"controlPlane":{"version":"v1.36.3"},"cluster":{"network":{"pods":["192.168.0.0/16","fd00:40::/48"]}}}`
		deployment   = `{"machineDeployment":{"version":"v1.35.4","class":"worker"}}`
		pool         = `{"machinePool":{"version":"v1.35.4","class":"worker"}}`
	)
	return map[string]runtimehooksv1.GeneratePatchesRequestItem{
		"ContainerClusterTemplate container":                  item("Cluster", "spec.infrastructureRef", `{}`),
		"KubeadmControlPlaneTemplate container-control-plane": item("Cluster", "spec.controlPlaneRef", controlPlane),
		"ContainerMachineTemplate container-control-plane":    item("KubeadmControlPlane", "spec.machineTemplate.spec.infrastructureRef", controlPlane),
		"ContainerMachineTemplate container-worker":           item("MachineDeployment", "spec.template.spec.infrastructureRef", deployment),
		"KubeadmConfigTemplate container-worker":              item("MachineDeployment", "spec.template.spec.bootstrap.configRef", deployment),
		"KubeadmConfigTemplate container-pool":                item("MachinePool", "spec.template.spec.bootstrap.configRef", pool),
		"ContainerMachinePoolTemplate container-worker":       item("MachinePool", "spec.template.spec.infrastructureRef", pool),
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	must.Succeed(t, json.Unmarshal([]byte(text), &value))
	return value
}

// patched applies all patches to the templates, as Cluster API does.
func patched(
	t *testing.T, class *clusterv1.ClusterClass, parts map[string]*unstructured.Unstructured, given values,
) map[string]map[string]any {
	t.Helper()
	texts := map[string][]byte{}
	for name, part := range parts {
		text := must.Get(part.MarshalJSON())(t)
		texts[name] = text
	}
	for i := range class.Spec.Patches {
		request := &runtimehooksv1.GeneratePatchesRequest{}
		for name, value := range given {
			request.Variables = append(request.Variables, runtimehooksv1.Variable{Name: name, Value: apiextensionsv1.JSON{Raw: []byte(value)}})
		}
		for name, item := range holders() {
			part := parts[name]
			item.UID, item.Object = types.UID(name), runtime.RawExtension{Object: part}
			request.Items = append(request.Items, item)
		}
		response, err := inline.NewGenerator(&class.Spec.Patches[i]).Generate(t.Context(), nil, request)
		if err != nil {
			t.Fatalf("patch %s: %v", class.Spec.Patches[i].Name, err)
		}
		for _, item := range response.Items {
			patch, err := jsonpatch.DecodePatch(item.Patch)
			if err == nil {
				texts[string(item.UID)], err = patch.Apply(texts[string(item.UID)])
			}
			if err != nil {
				t.Fatalf("patch %s of %s: %v", class.Spec.Patches[i].Name, item.UID, err)
			}
		}
	}
	after := map[string]map[string]any{}
	for name, text := range texts {
		object := map[string]any{}
		must.Succeed(t, json.Unmarshal(text, &object))
		after[name] = object
	}
	return after
}
