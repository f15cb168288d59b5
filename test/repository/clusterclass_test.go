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
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches/inline"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/templates"
)

const classFile = "clusterclass-container.yaml"

// clusterClass is the one that is shipped, and the templates beside it by
// kind and name.
func clusterClass(t *testing.T) (*clusterv1.ClusterClass, map[string]*unstructured.Unstructured) {
	t.Helper()
	var class *clusterv1.ClusterClass
	parts := map[string]*unstructured.Unstructured{}
	for _, object := range decode(t, []byte(readFile(t, "templates/"+classFile))) {
		if object.GetKind() != "ClusterClass" {
			parts[object.GetKind()+" "+object.GetName()] = object
			continue
		}
		class = &clusterv1.ClusterClass{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, class, true); err != nil {
			t.Fatal(err)
		}
	}
	if class == nil {
		t.Fatalf("%s has no ClusterClass", classFile)
	}
	// As the controller of ClusterClasses does.
	for _, variable := range class.Spec.Variables {
		class.Status.Variables = append(class.Status.Variables, clusterv1.ClusterClassStatusVariable{
			Name: variable.Name, Definitions: []clusterv1.ClusterClassStatusVariableDefinition{
				{From: clusterv1.VariableDefinitionFromInline, Required: variable.Required, Schema: variable.Schema},
			},
		})
	}
	return class, parts
}

// The file holds what clusterctl wants of it: a class of the file's name,
// objects without a namespace, and no variables of clusterctl's.
func TestClusterClassIsWhole(t *testing.T) {
	t.Parallel()
	class, parts := clusterClass(t)
	if want := strings.TrimSuffix(strings.TrimPrefix(classFile, "clusterclass-"), filepath.Ext(classFile)); class.Name != want {
		t.Errorf("%s has the ClusterClass %q; clusterctl looks for %q", classFile, class.Name, want)
	}
	if variable.MatchString(readFile(t, "templates/"+classFile)) {
		t.Errorf("%s has variables of clusterctl's: clusters that share the class would fight over it", classFile)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for name, part := range parts {
		typed, err := scheme.New(part.GroupVersionKind())
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(part.Object, typed, true)
		}
		if err != nil || part.GetNamespace() != "" {
			t.Errorf("%s in namespace %q: %v", name, part.GetNamespace(), err)
		}
	}
	md, mp := class.Spec.Workers.MachineDeployments[0], class.Spec.Workers.MachinePools[0]
	for _, reference := range []clusterv1.ClusterClassTemplateReference{
		class.Spec.Infrastructure.TemplateRef, class.Spec.ControlPlane.TemplateRef, class.Spec.ControlPlane.MachineInfrastructure.TemplateRef,
		md.Bootstrap.TemplateRef, md.Infrastructure.TemplateRef, mp.Bootstrap.TemplateRef, mp.Infrastructure.TemplateRef,
	} {
		part := parts[reference.Kind+" "+reference.Name]
		if part == nil || part.GetAPIVersion() != reference.APIVersion {
			t.Errorf("%+v is referred to and not there", reference)
		}
	}
	used := decode(t, []byte(fillIn(t, readFile(t, "templates/cluster-template-topology.yaml"))))
	if name, _, err := unstructured.NestedString(used[0].Object, "spec", "topology", "classRef", "name"); err != nil || name != class.Name {
		t.Errorf("cluster-template-topology.yaml is of the class %q: %v", name, err)
	}
}

// Cluster API's own webhook finds nothing wrong with the class.
func TestClusterClassIsAdmitted(t *testing.T) {
	allowClusterTopology(t)
	class, _ := clusterClass(t)
	class.Namespace = "default"
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	webhook := &coreadmission.ClusterClass{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
	if _, err := webhook.ValidateCreate(t.Context(), class); err != nil {
		t.Error(err)
	}
}

func allowClusterTopology(t *testing.T) {
	t.Helper()
	before := feature.Gates.Enabled(feature.ClusterTopology)
	set := func(on bool) {
		if err := feature.MutableGates.Set(fmt.Sprintf("%s=%t", feature.ClusterTopology, on)); err != nil {
			t.Fatal(err)
		}
	}
	set(true)
	t.Cleanup(func() { set(before) })
}

// Each variable is told of, and each nested one.
func TestClusterClassVariablesAreDocumented(t *testing.T) {
	t.Parallel()
	class, _ := clusterClass(t)
	guide := readFile(t, "docs/how-to/cluster-class.md")
	for _, variable := range class.Spec.Variables {
		schema := variable.Schema.OpenAPIV3Schema
		if schema.Description == "" {
			t.Errorf("variable %s has no description", variable.Name)
		}
		names := []string{variable.Name}
		for name := range schema.Properties {
			names = append(names, variable.Name+"."+name)
		}
		if schema.Items != nil {
			for name := range schema.Items.Properties {
				names = append(names, variable.Name+"[]."+name)
			}
		}
		for _, name := range names {
			if !strings.Contains(guide, "| `"+name+"`") {
				t.Errorf("docs/how-to/cluster-class.md has no row for %s", name)
			}
		}
	}
}

// values of variables, as JSON.
type values map[string]string

// What is given as a variable is checked and completed before it is used.
func TestClusterClassVariables(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		given  values
		// want is what becomes of it; nil where it is refused.
		want values
	}{
		"nothing":            {"All variables may be left out.", values{}, values{}},
		"load balancer type": {"The default is completed.", values{"loadBalancer": `{"image":"haproxy:3.2"}`}, values{"loadBalancer": `{"image":"haproxy:3.2","type":"HAProxy"}`}},
		"no load balancer":   {"Somebody else serves the endpoint.", values{"loadBalancer": `{"type":"None"}`}, values{"loadBalancer": `{"type":"None"}`}},
		"other balancer":     {"There are two.", values{"loadBalancer": `{"type":"nginx"}`}, nil},
		"network":            {"The default is completed.", values{"network": `{"subnet":"172.30.0.0/16"}`}, values{"network": `{"subnet":"172.30.0.0/16","name":"capcon"}`}},
		"network's name":     {"The engine would refuse it.", values{"network": `{"name":"a b"}`}, nil},
		"failure domains": {
			"Control planes may be everywhere.", values{"failureDomains": `[{"name":"a"},{"name":"b","controlPlane":false}]`},
			values{"failureDomains": `[{"name":"a","controlPlane":true},{"name":"b","controlPlane":false}]`},
		},
		"nameless domain": {"It has to be called something.", values{"failureDomains": `[{"controlPlane":true}]`}, nil},
		"mounts": {
			"Both paths are needed.", values{"extraMounts": `[{"containerPath":"/a","hostPath":"/b"}]`},
			values{"extraMounts": `[{"containerPath":"/a","hostPath":"/b","readOnly":false}]`},
		},
		"relative mount":  {"Nobody knows to what.", values{"extraMounts": `[{"containerPath":"a","hostPath":"/b"}]`}, nil},
		"half a mount":    {"Both paths are needed.", values{"extraMounts": `[{"containerPath":"/a"}]`}, nil},
		"pod security":    {"The rest is as it is in Kubernetes.", values{"podSecurity": `{"enforce":"baseline"}`}, values{"podSecurity": `{"enforce":"baseline","audit":"privileged","warn":"privileged"}`}},
		"other standard":  {"There are three.", values{"podSecurity": `{"enforce":"strict"}`}, nil},
		"image":           {"An image for a version.", values{"nodeImages": `{"v1.36.3":"node:1"}`}, values{"nodeImages": `{"v1.36.3":"node:1"}`}},
		"empty image":     {"It is the provider's: flavours have one where none is asked for.", values{"nodeImages": `{"v1.36.3":""}`}, values{"nodeImages": `{"v1.36.3":""}`}},
		"cni":             {"The one of the image.", values{"cni": `"default"`}, values{"cni": `"default"`}},
		"other cni":       {"No other lies in images.", values{"cni": `"calico"`}, nil},
		"unknown":         {"It would do nothing.", values{"nodeImage": `"node:1"`}, nil},
		"unknown, nested": {"It would do nothing.", values{"network": `{"nam":"x"}`}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class, _ := clusterClass(t)
			cluster := &clusterv1.Cluster{}
			cluster.Spec.Topology.Version = "v1.36.3"
			for name, value := range tc.given {
				cluster.Spec.Topology.Variables = append(cluster.Spec.Topology.Variables, clusterv1.ClusterVariable{
					Name: name, Value: apiextensionsv1.JSON{Raw: []byte(value)},
				})
			}
			errs := (&coreadmission.Cluster{}).DefaultAndValidateVariables(t.Context(), cluster, nil, class)
			if refused := len(errs) > 0; refused || tc.want == nil {
				if refused != (tc.want == nil) {
					t.Errorf("%s Got the errors %v", tc.reason, errs)
				}
				return
			}
			got := values{}
			for _, variable := range cluster.Spec.Topology.Variables {
				got[variable.Name] = string(variable.Value.Raw)
			}
			if diff := cmp.Diff(got.parsed(t), tc.want.parsed(t)); diff != "" {
				t.Errorf("%s Variables (-got +want):\n%s", tc.reason, diff)
			}
		})
	}
}

func (v values) parsed(t *testing.T) map[string]any {
	t.Helper()
	parsed := map[string]any{}
	for name, text := range v {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		parsed[name] = value
	}
	return parsed
}

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
	cases := map[string]struct {
		reason string
		given  values
		// want is what is added, by template and path in its spec.template.spec.
		want map[string]values
	}{
		"nothing":       {"The templates are used as they are.", values{}, nil},
		"load balancer": {"It is the cluster's.", values{"loadBalancer": `{"type":"None"}`}, map[string]values{clusterKind: {"loadBalancer": `{"type":"None"}`}}},
		"network":       {"It is the cluster's.", values{"network": `{"name":"x"}`}, map[string]values{clusterKind: {"network": `{"name":"x"}`}}},
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
				"kubeadmConfigSpec.postKubeadmCommands": `["sed 's|[{][{] *[.]PodSubnet *[}][}]|192.168.0.0/16,fd00:40::/48|' /kind/manifests/default-cni.yaml | ` +
					`kubectl --kubeconfig /etc/kubernetes/admin.conf apply --filename -"]`,
			}},
		},
		"mounts": {
			"All nodes have them.", values{"extraMounts": mount},
			map[string]values{first: {"extraMounts": mount}, workers: {"extraMounts": mount}, pool: {"template.spec.extraMounts": mount}},
		},
		"pod security": {
			"The API server reads it from a file.", values{"podSecurity": `{"enforce":"baseline","audit":"restricted","warn":"privileged"}`},
			map[string]values{controlPlane: {
				"kubeadmConfigSpec.files": `[{"path":"/etc/kubernetes/pod-security.yaml","owner":"root:root","permissions":"0600","content":` +
					`"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n  - name: PodSecurity\n    configuration:\n` +
					`      apiVersion: pod-security.admission.config.k8s.io/v1\n      kind: PodSecurityConfiguration\n      defaults:\n` +
					`        enforce: baseline\n        enforce-version: latest\n        audit: restricted\n        audit-version: latest\n` +
					`        warn: privileged\n        warn-version: latest\n      exemptions:\n        namespaces: [kube-system]\n"}]`,
				"kubeadmConfigSpec.clusterConfiguration": `{"apiServer":{"extraArgs":[{"name":"admission-control-config-file",` +
					`"value":"/etc/kubernetes/pod-security.yaml"}],"extraVolumes":[{"name":"pod-security","hostPath":"/etc/kubernetes/pod-security.yaml",` +
					`"mountPath":"/etc/kubernetes/pod-security.yaml","readOnly":true,"pathType":"File"}]}}`,
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class, parts := clusterClass(t)
			got := patched(t, class, parts, tc.given)
			for name, changes := range tc.want {
				for path, value := range changes {
					var wanted any
					if err := json.Unmarshal([]byte(value), &wanted); err != nil {
						t.Fatal(err)
					}
					fields := append([]string{"spec", "template", "spec"}, strings.Split(path, ".")...)
					if err := unstructured.SetNestedField(parts[name].Object, wanted, fields...); err != nil {
						t.Fatal(err)
					}
				}
			}
			for name, part := range parts {
				if diff := cmp.Diff(part.Object, got[name]); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s", tc.reason, name, diff)
				}
			}
		})
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
	if strings.Contains(commands[0], "{{") {
		t.Errorf("Jinja would read the command: %s", commands[0])
	}
	manifest := filepath.Join(t.TempDir(), "cni.yaml")
	if err := os.WriteFile(manifest, []byte(templates.Flannel), 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer("/kind/manifests/default-cni.yaml", manifest, "kubectl --kubeconfig /etc/kubernetes/admin.conf apply --filename -", "cat").Replace(commands[0])
	rendered, err := exec.CommandContext(t.Context(), "sh", "-c", script).Output()
	if err != nil {
		t.Fatalf("run %s: %v", script, err)
	}
	var want strings.Builder
	if err := template.Must(template.New("").Parse(templates.Flannel)).Execute(&want, map[string]string{"PodSubnet": "192.168.0.0/16,fd00:40::/48"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(rendered)); diff != "" {
		t.Errorf("What is applied (-want +got):\n%s", diff)
	}
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
		"ContainerMachinePoolTemplate container-worker":       item("MachinePool", "spec.template.spec.infrastructureRef", pool),
	}
}

// patched applies all patches to the templates, as Cluster API does.
func patched(
	t *testing.T, class *clusterv1.ClusterClass, parts map[string]*unstructured.Unstructured, given values,
) map[string]map[string]any {
	t.Helper()
	texts := map[string][]byte{}
	for name, part := range parts {
		text, err := part.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
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
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		after[name] = object
	}
	return after
}
