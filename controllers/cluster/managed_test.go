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

package cluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

func TestManaged(t *testing.T) {
	t.Parallel()
	annotated := func(key string) func(*builders.Objects) {
		return func(o *builders.Objects) { metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, key, "") }
	}
	cases := map[string]struct {
		change func(*builders.Objects)
		filter string
		want   cluster.EngineRecord
	}{
		"managed": {
			change: annotated("other"),
			want:   cluster.EngineRecord{Owner: builders.Owner(), Cluster: builders.Cluster},
		},
		"another provider's":         {change: func(o *builders.Objects) { o.Cluster.Spec.InfrastructureRef.Kind = "OtherCluster" }},
		"not created yet":            {change: func(o *builders.Objects) { o.Cluster.Spec.InfrastructureRef.Name = "other" }},
		"without an owner ID":        {change: func(o *builders.Objects) { o.ContainerCluster.Spec.OwnerID = "" }},
		"not selected by the filter": {change: annotated("other"), filter: "other"},
		"externally managed":         {change: annotated(clusterv1.ManagedByAnnotation)},
		"moved":                      {change: annotated(clusterctlv1.DeleteForMoveAnnotation)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(tc.change))
			object, _ := world.Get(w, builders.Cluster, &clusterv1.Cluster{})
			containerCluster, got, err := cluster.Managed(t.Context(), w.Client, object, tc.filter)
			must.Succeed(t, err)
			if diff := cmp.Diff(tc.want, got); diff != "" || (containerCluster != nil) != (tc.want.Cluster != "") {
				t.Errorf("ContainerCluster %v, record (-want +got):\n%s", containerCluster, diff)
			}
		})
	}
}

// What another engine than the cluster's does not have is not created there.
func TestAnotherEngine(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.SettleCluster()
	w.Engine.SwitchStorage("another")
	w.Restart()
	must.Get(w.ReconcileCluster())(t)
	if state, message := world.State(get(w), infrav1.LoadBalancerReadyCondition); state != "Unknown/"+infrav1.EngineChangedReason ||
		!strings.HasPrefix(message, "another container engine answers (storage another, not simulated)") {
		t.Errorf("LoadBalancerReady is %s: %s", state, message)
	}
	if created := must.Get(w.Engine.ListContainers(t.Context(), nil))(t); len(created) > 0 {
		t.Errorf("created: %v", created)
	}
}
