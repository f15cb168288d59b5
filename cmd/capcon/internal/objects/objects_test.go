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

package objects

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func values() Values {
	return Values{
		Namespace: "default", Name: "demo",
		KubernetesVersion: "v1.36.3",
		ControlPlanes:     1, Workers: 1,
		NodeImage:         "localhost/capcon/node:v1.36.3",
		LoadBalancerImage: "localhost/capcon/haproxy:2.6",
		Network:           "capcon",
		PodCIDR:           "10.244.0.0/16", ServiceCIDR: "10.128.0.0/12",
		CNIManifest: "kind: Pod\n",
	}
}

func TestRenderGolden(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*Values){
		"one-and-one": func(v *Values) {
			v.Resources = infrav1.MachineResources{Memory: ptr.To(resource.MustParse("4Gi"))}
			v.Environment = []infrav1.EnvironmentVariable{{Name: "HTTPS_PROXY", Value: "http://proxy.example.com:3128"}}
		},
		"defaults-of-the-provider": func(v *Values) {
			v.LoadBalancerImage, v.Network, v.CNIManifest = "", "", ""
			v.ControlPlanes, v.Workers, v.AllowSchedulingOnControlPlanes = 3, 0, true
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := values()
			change(&v)
			rendered := must.Get(Render(v))(t)
			got := manifest(t, append([]client.Object{rendered.Cluster}, rendered.Owned...))
			golden := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				must.Succeed(t, os.WriteFile(golden, got, 0o644))
			}
			want := must.Get(os.ReadFile(golden))(t)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("rendered objects differ from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// The class that is rendered is the one that is shipped, under a name of its
// own, and everything it refers to comes before it.
func TestRenderClass(t *testing.T) {
	t.Parallel()
	rendered := must.Get(Render(values()))(t)
	shipped := documents(t, []byte(templates.ClusterClass))
	if len(rendered.Class) != len(shipped) {
		t.Fatalf("%d objects are shipped, and %d rendered", len(shipped), len(rendered.Class))
	}
	class := &clusterv1.ClusterClass{}
	there := map[string]bool{}
	for _, object := range rendered.Class {
		if object.GetNamespace() != "default" || !strings.HasSuffix(object.GetName(), classSuffix()) {
			t.Errorf("%T is %s/%s", object, object.GetNamespace(), object.GetName())
		}
		part, ok := object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("rendered is a %T", object)
		}
		if part.GetKind() == "ClusterClass" {
			must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(part.Object, class, true))
			continue
		}
		there[part.GetKind()+" "+part.GetName()] = class.Name == ""
	}
	if class.Name != ClassName() {
		t.Errorf("the class is named %q, and ClassName says %q", class.Name, ClassName())
	}
	for _, reference := range []clusterv1.ClusterClassTemplateReference{
		class.Spec.Infrastructure.TemplateRef, class.Spec.ControlPlane.TemplateRef,
		class.Spec.ControlPlane.MachineInfrastructure.TemplateRef,
		class.Spec.Workers.MachineDeployments[0].Bootstrap.TemplateRef,
		class.Spec.Workers.MachineDeployments[0].Infrastructure.TemplateRef,
		class.Spec.Workers.MachinePools[0].Bootstrap.TemplateRef,
		class.Spec.Workers.MachinePools[0].Infrastructure.TemplateRef,
	} {
		if !there[reference.Kind+" "+reference.Name] {
			t.Errorf("%s %s is referred to, and not rendered before the class: %v", reference.Kind, reference.Name, there)
		}
	}
}

// The class for manifests shares no object with that of capcon's clusters.
func TestNamedClass(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	for _, object := range must.Get(Render(values()))(t).Class {
		taken[object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName()] = true
	}
	named := must.Get(Named("default"))(t)
	for _, object := range named {
		if name := object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName(); taken[name] {
			t.Errorf("%s is of the other class too, and clusterctl would not move it", name)
		}
	}
	if last := named[len(named)-1]; last.GetName() != "container" || last.GetObjectKind().GroupVersionKind().Kind != "ClusterClass" {
		t.Errorf("last is %s %s, want the class", last.GetObjectKind().GroupVersionKind().Kind, last.GetName())
	}
}

// A cluster that was made by another release keeps the class it has, which
// this program cannot make.
func manifest(t *testing.T, rendered []client.Object) []byte {
	t.Helper()
	var documents [][]byte
	for _, object := range rendered {
		document := must.Get(yaml.Marshal(object))(t)
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("---\n"))
}
