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

package management_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
)

func TestEngineNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason   string
		cluster  string
		machines []string
		want     []string
	}{
		"Plane":     {"The engine of the management plane has no name.", "", nil, []string{""}},
		"Cluster":   {"Machines that say nothing are where the cluster is.", "build", []string{"", "build"}, []string{"build"}},
		"Elsewhere": {"Each engine is there once.", "build", []string{"other", "build", "third", "other"}, []string{"build", "other", "third"}},
		"Both":      {"The engine of the plane is one of them.", "", []string{"other"}, []string{"", "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machines := make([]infrav1.ContainerMachine, len(tc.machines))
			for i, on := range tc.machines {
				metav1.SetMetaDataAnnotation(&machines[i].ObjectMeta, infrav1.EngineNameAnnotation, on)
			}
			got := management.EngineNames(&infrav1.ContainerCluster{Spec: infrav1.ContainerClusterSpec{EngineName: tc.cluster}}, machines)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// An engine of another namespace than capcon's is another one, also with the same name.
func TestShownEngines(t *testing.T) {
	t.Parallel()
	on := func(name string) infrav1.ContainerMachine {
		return infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.EngineNameAnnotation: name}}}
	}
	cluster := &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{Namespace: management.Namespace}}
	if got := management.ShownEngines(cluster, nil); len(got) > 0 {
		t.Errorf("On the engine of the plane: %v", got)
	}
	cluster.Spec.EngineName = "build"
	machines := []infrav1.ContainerMachine{on("build"), on("other")}
	if diff := cmp.Diff([]string{"build", "other"}, management.ShownEngines(cluster, machines)); diff != "" {
		t.Error(diff)
	}
	cluster.Namespace = "team"
	if diff := cmp.Diff([]string{"team/build", "team/other"}, management.ShownEngines(cluster, machines)); diff != "" {
		t.Error(diff)
	}
}
