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
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestClusterctlTemplate keeps the flavor for clusterctl the same cluster
// that capcon makes, but for the class's name and the Pod network, which capcon
// applies with a ClusterResourceSet and the flavor has the class apply.
func TestClusterctlTemplate(t *testing.T) {
	t.Parallel()
	v := values()
	v.CNIManifest = ""
	v.LoadBalancerImage, v.NodeImage = "haproxy:3.2", "kindest/node:v1.36.3"
	rendered := must.Get(Render(v))(t)
	rendered.Cluster.Spec.Topology.ClassRef.Name = "container"
	text := must.Get(yaml.Marshal(rendered.Cluster))(t)
	byCapcon := documents(t, text)
	unstructured.RemoveNestedField(byCapcon[0], "metadata", "annotations")
	byFile := fileObjects(t, map[string]string{
		"CLUSTER_NAME": v.Name, "NAMESPACE": v.Namespace, "KUBERNETES_VERSION": v.KubernetesVersion,
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1", "CONTAINER_NODE_IMAGE": v.NodeImage, "CONTAINER_LOAD_BALANCER_IMAGE": v.LoadBalancerImage,
		"CONTAINER_NETWORK": v.Network,
	})
	variables, _, err := unstructured.NestedSlice(byFile[0], "spec", "topology", "variables")
	if err != nil || !cmp.Equal(variables[len(variables)-1], any(map[string]any{"name": "cni", "value": "default"})) {
		t.Fatalf("the last variable of %v is not the Pod network, %v", variables, err)
	}
	must.Succeed(t, unstructured.SetNestedSlice(byFile[0], variables[:len(variables)-1], "spec", "topology", "variables"))
	if diff := cmp.Diff(byCapcon, byFile); diff != "" {
		t.Errorf("cluster-template-topology.yaml is another cluster than capcon's (-capcon +file):\n%s", diff)
	}
}

func fileObjects(t *testing.T, variables map[string]string) []map[string]any {
	t.Helper()
	raw := must.Get(os.ReadFile("../../../../templates/cluster-template-topology.yaml"))(t)
	processed := must.Get(yamlprocessor.NewSimpleProcessor().Process(raw, func(name string) (string, error) {
		value, known := variables[name]
		if !known {
			return "", errors.New("unknown variable " + name)
		}
		return value, nil
	}))(t)
	return documents(t, processed)
}

func documents(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	var found []map[string]any
	for _, object := range must.Get(utilyaml.ToUnstructured(text))(t) {
		found = append(found, object.Object)
	}
	return found
}
