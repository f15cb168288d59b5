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
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const classFile = "clusterclass-container.yaml"

// clusterClass is the one that is shipped, and the templates next to it by
// kind and name.
func clusterClass(t *testing.T) (*clusterv1.ClusterClass, map[string]*unstructured.Unstructured) {
	t.Helper()
	var class *clusterv1.ClusterClass
	parts := map[string]*unstructured.Unstructured{}
	for _, object := range clusterctl.Decode(t, []byte(readFile(t, "templates/"+classFile))) {
		if object.GetKind() != "ClusterClass" {
			parts[object.GetKind()+" "+object.GetName()] = object
			continue
		}
		class = &clusterv1.ClusterClass{}
		must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, class, true))
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
		must.Succeed(t, add(scheme))
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
	used := clusterctl.Decode(t, []byte(fillIn(t, readFile(t, "templates/cluster-template-topology.yaml"))))
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
	must.Succeed(t, clusterv1.AddToScheme(scheme))
	webhook := &coreadmission.ClusterClass{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
	if _, err := webhook.ValidateCreate(t.Context(), class); err != nil {
		t.Error(err)
	}
}

func allowClusterTopology(t *testing.T) {
	t.Helper()
	before := feature.Gates.Enabled(feature.ClusterTopology)
	set := func(on bool) {
		must.Succeed(t, feature.MutableGates.Set(fmt.Sprintf("%s=%t", feature.ClusterTopology, on)))
	}
	set(true)
	t.Cleanup(func() { set(before) })
}

// Each variable is documented, and each nested one.
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
		"no image":           {"The flavor leaves the choice to the provider.", values{"loadBalancer": `{"image":""}`}, values{"loadBalancer": `{"image":"","type":"HAProxy"}`}},
		"no load balancer":   {"The endpoint is external.", values{"loadBalancer": `{"type":"None"}`}, values{"loadBalancer": `{"type":"None"}`}},
		"other balancer":     {"There are two.", values{"loadBalancer": `{"type":"nginx"}`}, nil},
		"network":            {"The provider chooses its name by the Cluster's IP families.", values{"network": `{"subnet":"172.30.0.0/16"}`}, values{"network": `{"subnet":"172.30.0.0/16"}`}},
		"storage":            {"The default is completed.", values{"storage": `{}`}, values{"storage": `{"type":"NodeLocal"}`}},
		"service balancer":   {"The default is completed.", values{"serviceLoadBalancer": `{}`}, values{"serviceLoadBalancer": `{"type":"HAProxy"}`}},
		"other storage":      {"There are two.", values{"storage": `{"type":"NFS"}`}, nil},
		"registries":         {"A host may be enough.", values{"registries": `[{"host":"a.example"}]`}, values{"registries": `[{"host":"a.example"}]`}},
		"nameless registry":  {"It would be of no use.", values{"registries": `[{}]`}, nil},
		"images":             {"They are names.", values{"images": `["app:dev"]`}, values{"images": `["app:dev"]`}},
		"owner ID":           {"A label would refuse it.", values{"ownerID": `"a b"`}, nil},
		"engine":             {"It is the name of an object.", values{"engineName": `"build"`}, values{"engineName": `"build"`}},
		"engine's name":      {"No object has it.", values{"engineName": `"a b"`}, nil},
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
		"propagation": {
			"It is a word of Kubernetes.", values{"extraMounts": `[{"containerPath":"/a","hostPath":"/b","propagation":"HostToContainer"}]`},
			values{"extraMounts": `[{"containerPath":"/a","hostPath":"/b","readOnly":false,"propagation":"HostToContainer"}]`},
		},
		"no propagation": {"It is a word of the kernel.", values{"extraMounts": `[{"containerPath":"/a","hostPath":"/b","propagation":"rslave"}]`}, nil},
		"no host port":   {"Another one each time is of no use.", values{"loadBalancer": `{"portMappings":[{"containerPort":80}]}`}, nil},
		"search domains": {"They are names.", values{"dnsSearch": `["a b"]`}, nil},
		"no domain":      {"The resolver then has none.", values{"dnsSearch": `["."]`}, values{"dnsSearch": `["."]`}},
		"relative mount": {"It is not known to what.", values{"extraMounts": `[{"containerPath":"a","hostPath":"/b"}]`}, nil},
		"half a mount":   {"Both paths are needed.", values{"extraMounts": `[{"containerPath":"/a"}]`}, nil},
		"environment":    {"Both are needed.", values{"environment": `[{"name":"A","value":"b"}]`}, values{"environment": `[{"name":"A","value":"b"}]`}},
		"no variable":    {"No shell could read it.", values{"environment": `[{"name":"a b","value":"b"}]`}, nil},
		"labels":         {"They are texts.", values{"labels": `{"a":"b"}`}, values{"labels": `{"a":"b"}`}},
		"devices":        {"A path or a name.", values{"devices": `[{"path":"/dev/fuse"},{"name":"a.b/c=d"}]`}, values{"devices": `[{"path":"/dev/fuse"},{"name":"a.b/c=d"}]`}},
		"no device":      {"A host has its devices below /dev.", values{"devices": `[{"path":"/etc/passwd"}]`}, nil},
		"pod security":   {"The rest is as it is in Kubernetes.", values{"podSecurity": `{"enforce":"baseline"}`}, values{"podSecurity": `{"enforce":"baseline","audit":"privileged","warn":"privileged"}`}},
		"schedulable":    {"It is a boolean.", values{"allowSchedulingOnControlPlanes": `true`}, values{"allowSchedulingOnControlPlanes": `true`}},
		"rollout":        {"It is Cluster API's field.", values{"rolloutBefore": `{"certificatesExpiryDays":7}`}, values{"rolloutBefore": `{"certificatesExpiryDays":7}`}},
		"early rollout":  {"Cluster API has the same limit.", values{"rolloutBefore": `{"certificatesExpiryDays":6}`}, nil},
		"empty rollout":  {"It would be an empty field, which Cluster API refuses.", values{"rolloutBefore": `{}`}, nil},
		"other standard": {"There are three.", values{"podSecurity": `{"enforce":"strict"}`}, nil},
		"image":          {"An image for a version.", values{"nodeImages": `{"v1.36.3":"node:1"}`}, values{"nodeImages": `{"v1.36.3":"node:1"}`}},
		"empty image":    {"It is the provider's: flavors set it empty.", values{"nodeImages": `{"v1.36.3":""}`}, values{"nodeImages": `{"v1.36.3":""}`}},
		"cni":            {"The one of the image.", values{"cni": `"default"`}, values{"cni": `"default"`}},
		"other cni":      {"No other lies in images.", values{"cni": `"calico"`}, nil},
		"API server": {
			"It is as in kubeadm.", values{"apiServer": `{"extraArgs":[{"name":"v","value":""}],"extraVolumes":[{"name":"a","hostPath":"/a","mountPath":"/b"}]}`},
			values{"apiServer": `{"extraArgs":[{"name":"v","value":""}],"extraVolumes":[{"name":"a","hostPath":"/a","mountPath":"/b"}]}`},
		},
		"argument with dashes": {"kubeadm adds them.", values{"apiServer": `{"extraArgs":[{"name":"--v","value":"4"}]}`}, nil},
		"argument twice":       {"Cluster API has the same rule.", values{"scheduler": `{"extraArgs":[{"name":"v","value":"4"},{"name":"v","value":"5"}]}`}, nil},
		"no argument's value":  {"It has one, if an empty one.", values{"etcd": `{"extraArgs":[{"name":"v"}]}`}, nil},
		"relative volume":      {"It is not known to what.", values{"controllerManager": `{"extraVolumes":[{"name":"a","hostPath":"a","mountPath":"/b"}]}`}, nil},
		"volume of no type":    {"There is no such type.", values{"apiServer": `{"extraVolumes":[{"name":"a","hostPath":"/a","mountPath":"/b","pathType":"Dir"}]}`}, nil},
		"volumes of etcd":      {"The variable has none.", values{"etcd": `{"extraVolumes":[]}`}, nil},
		"kubelet": {
			"The fields are the kubelet's.", values{"kubelet": `{"kind":"KubeletConfiguration","maxPods":7,"evictionHard":{"a":"b"}}`},
			values{"kubelet": `{"kind":"KubeletConfiguration","maxPods":7,"evictionHard":{"a":"b"}}`},
		},
		"another kind":             {"A document of kubeadm's was meant for somewhere else.", values{"kubelet": `{"kind":"KubeProxyConfiguration"}`}, nil},
		"kube-proxy":               {"The fields are kube-proxy's.", values{"kubeProxy": `{"mode":"nftables","conntrack":{"min":0}}`}, values{"kubeProxy": `{"mode":"nftables","conntrack":{"min":0}}`}},
		"kube-proxy's mode":        {"There is no such mode.", values{"kubeProxy": `{"mode":"userspace"}`}, nil},
		"containerd":               {"They are texts.", values{"containerdConfigPatches": `["a = 1"]`}, values{"containerdConfigPatches": `["a = 1"]`}},
		"containerd's object":      {"TOML is a text.", values{"containerdConfigPatches": `[{"a":1}]`}, nil},
		"file":                     {"The rest has defaults.", values{"files": `[{"path":"/a","content":"b"}]`}, values{"files": `[{"path":"/a","content":"b"}]`}},
		"file of a Secret":         {"It may be one.", values{"files": `[{"path":"/a","contentFrom":{"secret":{"name":"s","key":"k"}}}]`}, values{"files": `[{"path":"/a","contentFrom":{"secret":{"name":"s","key":"k"}}}]`}},
		"file without a content":   {"A forgotten content is an error.", values{"files": `[{"path":"/a"}]`}, nil},
		"file of two contents":     {"Which one?", values{"files": `[{"path":"/a","content":"b","contentFrom":{"secret":{"name":"s","key":"k"}}}]`}, nil},
		"relative file":            {"It is not known to what.", values{"files": `[{"path":"a","content":"b"}]`}, nil},
		"file's permissions":       {"They are octal.", values{"files": `[{"path":"/a","content":"b","permissions":"rw"}]`}, nil},
		"commands":                 {"They are texts.", values{"preKubeadmCommands": `["true"]`, "postKubeadmCommands": `["true"]`}, values{"preKubeadmCommands": `["true"]`, "postKubeadmCommands": `["true"]`}},
		"empty command":            {"Cluster API refuses it.", values{"postKubeadmCommands": `[""]`}, nil},
		"node labels":              {"A value may be empty.", values{"nodeLabels": `{"a.example/b":"c","node.kubernetes.io/d":"","e":"f"}`}, values{"nodeLabels": `{"a.example/b":"c","node.kubernetes.io/d":"","e":"f"}`}},
		"node label's key":         {"The kubelet would not start.", values{"nodeLabels": `{"a b":"c"}`}, nil},
		"node label's value":       {"The kubelet would not start.", values{"nodeLabels": `{"a":"b,c=d"}`}, nil},
		"node role":                {"The kubelet would not start.", values{"nodeLabels": `{"node-role.kubernetes.io/gpu":""}`}, nil},
		"node label of Kubernetes": {"The kubelet would not start.", values{"nodeLabels": `{"k8s.io/a":""}`}, nil},
		"node taints":              {"A value may be omitted.", values{"nodeTaints": `[{"key":"a.example/b","effect":"NoSchedule"}]`}, values{"nodeTaints": `[{"key":"a.example/b","effect":"NoSchedule"}]`}},
		"node taint's effect":      {"There is no such effect.", values{"nodeTaints": `[{"key":"a","effect":"Never"}]`}, nil},
		"kubelet's arguments":      {"They are as those of an API server.", values{"kubeletExtraArgs": `[{"name":"v","value":"4"}]`}, values{"kubeletExtraArgs": `[{"name":"v","value":"4"}]`}},
		"unknown":                  {"It would do nothing.", values{"nodeImage": `"node:1"`}, nil},
		"unknown, nested":          {"It would do nothing.", values{"network": `{"nam":"x"}`}, nil},
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
		must.Succeed(t, json.Unmarshal([]byte(text), &value))
		parsed[name] = value
	}
	return parsed
}
