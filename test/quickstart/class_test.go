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

package quickstart_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

const classCluster = "class-test"

// TestClusterClass makes a cluster of the flavour topology as clusterctl's users
// do, and leaves the Pod network to the class: its variable cni has the control
// planes, of which the second joins, apply the manifest in their image.
func TestClusterClass(t *testing.T) {
	eng := integration.Engine(t)
	cluster := declare(t, eng, classCluster)
	values := flavourValues(classCluster)
	values["CONTROL_PLANE_MACHINE_COUNT"] = "3"
	for _, file := range []string{"clusterclass-container.yaml", "cluster-template-topology.yaml"} {
		for _, object := range fillIn(t, "../../templates/"+file, values) {
			object.SetNamespace(metav1.NamespaceDefault)
			if object.GetKind() == "Cluster" {
				setVariable(t, object, "cni", "default")
			}
			cluster.apply(t, object)
		}
	}
	cluster.comesUp(t, 4)
	cluster.delete(t)
}

// setVariable of the topology of a Cluster.
func setVariable(t *testing.T, cluster *unstructured.Unstructured, name string, value any) {
	t.Helper()
	fields := []string{"spec", "topology", "variables"}
	variables, _, err := unstructured.NestedSlice(cluster.Object, fields...)
	if err != nil {
		t.Fatal(err)
	}
	variables = append(variables, map[string]any{"name": name, "value": value})
	if err := unstructured.SetNestedSlice(cluster.Object, variables, fields...); err != nil {
		t.Fatal(err)
	}
}
