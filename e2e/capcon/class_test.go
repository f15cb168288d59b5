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

package capcon_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

const classCluster = "class-test"

// TestClusterClass creates a cluster of the flavor topology as clusterctl's users
// do. Its Nodes get their Pod network from the control planes, which apply the
// manifest in their image, also those that join.
func TestClusterClass(t *testing.T) {
	eng := integration.Engine(t)
	cluster := declare(t, eng, classCluster)
	values := flavorValues(classCluster)
	values["CONTROL_PLANE_MACHINE_COUNT"] = "3"
	for _, file := range []string{"clusterclass-container.yaml", "cluster-template-topology.yaml"} {
		for _, object := range fillIn(t, "../../templates/"+file, values) {
			object.SetNamespace(metav1.NamespaceDefault)
			cluster.apply(t, object)
		}
	}
	cluster.comesUp(t, 4)
	cluster.delete(t)
}
