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

package debts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/debts"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const namespace = "team"

func owner(cluster, id string) identity.Owner {
	return identity.Owner{Namespace: namespace, Cluster: cluster, ID: id}
}

func newClient(t *testing.T, change func(*infrav1.ContainerEngine)) client.Client {
	t.Helper()
	engine := &infrav1.ContainerEngine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "build"}}
	change(engine)
	return fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(engine).Build()
}

func get(t *testing.T, c client.Client) *infrav1.ContainerEngine {
	t.Helper()
	engine := &infrav1.ContainerEngine{}
	must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "build"}, engine))
	return engine
}

func TestLostEngine(t *testing.T) {
	t.Parallel()
	on := func(name string) *infrav1.ContainerMachine {
		machine := &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"}}
		if name != "" {
			machine.Annotations = map[string]string{infrav1.EngineNameAnnotation: name}
		}
		return machine
	}
	cases := map[string]struct {
		reason string
		object client.Object
		lost   *bool
		want   bool
	}{
		"Lost":        {"Its administrator says so.", on("build"), ptr.To(true), true},
		"OfCluster":   {"Also of a cluster.", &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: infrav1.ContainerClusterSpec{EngineName: "build"}}, ptr.To(true), true},
		"NotLost":     {"Its administrator has not said so.", on("build"), nil, false},
		"Back":        {"It is back.", on("build"), ptr.To(false), false},
		"Absent":      {"Who deletes the object has said nothing of its host.", on("absent"), ptr.To(true), false},
		"OwnEngine":   {"The manager's own engine has no object.", on(""), ptr.To(true), false},
		"OtherObject": {"An engine is of its namespace.", &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Annotations: on("build").Annotations}}, ptr.To(true), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, func(e *infrav1.ContainerEngine) { e.Spec.Lost = tc.lost })
			if got := must.Get(debts.LostEngine(t.Context(), c, tc.object))(t); (got != nil) != tc.want {
				t.Errorf("%s Got %v.", tc.reason, got)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	machine := func(containers ...string) infrav1.EngineDebt {
		return infrav1.EngineDebt{Name: "id", ClusterName: "c", OwnerID: "id", Containers: containers}
	}
	whole := infrav1.EngineDebt{Name: "id", ClusterName: "c", OwnerID: "id", NetworkName: "capcon"}
	retained := whole
	retained.VolumeRetained = ptr.To(true)
	unknown := infrav1.EngineDebt{Name: "x", ClusterName: "c", Containers: []string{"x"}}
	cases := map[string]struct {
		reason string
		have   []infrav1.EngineDebt
		debt   infrav1.EngineDebt
		want   []infrav1.EngineDebt
	}{
		"First":          {"", nil, debts.OfContainer(owner("c", "id"), "b"), []infrav1.EngineDebt{machine("b")}},
		"Second":         {"Machines of a cluster share one debt.", []infrav1.EngineDebt{machine("b")}, debts.OfContainer(owner("c", "id"), "a"), []infrav1.EngineDebt{machine("a", "b")}},
		"Again":          {"It is not recorded twice.", []infrav1.EngineDebt{machine("a", "b")}, debts.OfContainer(owner("c", "id"), "a"), []infrav1.EngineDebt{machine("a", "b")}},
		"Cluster":        {"All of the cluster includes its machines.", []infrav1.EngineDebt{machine("a")}, debts.OfCluster(owner("c", "id"), "capcon", ""), []infrav1.EngineDebt{whole}},
		"Retained":       {"The volume is its user's.", nil, debts.OfCluster(owner("c", "id"), "capcon", "pv-1"), []infrav1.EngineDebt{retained}},
		"MachineLater":   {"It is part of the cluster's.", []infrav1.EngineDebt{whole}, debts.OfContainer(owner("c", "id"), "a"), []infrav1.EngineDebt{whole}},
		"OtherOfOneName": {"A cluster that is created again has another ID.", []infrav1.EngineDebt{whole}, debts.OfContainer(owner("c", ""), "x"), []infrav1.EngineDebt{whole, unknown}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, func(e *infrav1.ContainerEngine) { e.Spec.Lost, e.Spec.Debts = ptr.To(true), tc.have })
			before := get(t, c)
			must.Succeed(t, debts.Record(t.Context(), c, before.DeepCopy(), tc.debt))
			after := get(t, c)
			if diff := cmp.Diff(tc.want, after.Spec.Debts); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			isWritten := before.ResourceVersion != after.ResourceVersion
			if isSame := cmp.Equal(tc.have, tc.want); isSame == isWritten {
				t.Errorf("written: %t; it was recorded before: %t", isWritten, isSame)
			}
		})
	}
}

// TestConflict: who read the engine before it was back records nothing, nor does who removes a debt remove
// one that was added since.
func TestConflict(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(true) })
	stale, changed := get(t, c), get(t, c)
	changed.Spec.Lost = ptr.To(false)
	must.Succeed(t, c.Update(t.Context(), changed))
	if err := debts.Record(t.Context(), c, stale, debts.OfContainer(owner("c", "id"), "a")); !apierrors.IsConflict(err) {
		t.Errorf("recorded on an engine that is back: %v", err)
	}
	changed.Spec.Debts = []infrav1.EngineDebt{debts.OfContainer(owner("c", "id"), "a")}
	must.Succeed(t, c.Update(t.Context(), changed))
	stale = get(t, c)
	changed.Spec.Debts[0].Containers = []string{"a", "b"}
	must.Succeed(t, c.Update(t.Context(), changed))
	if err := debts.Remove(t.Context(), c, stale, "id"); !apierrors.IsConflict(err) {
		t.Errorf("removed a debt that has grown: %v", err)
	}
	if got := len(get(t, c).Spec.Debts); got != 1 {
		t.Errorf("%d debts, want 1", got)
	}
	must.Succeed(t, debts.Remove(t.Context(), c, get(t, c), "id"))
	must.Succeed(t, debts.Remove(t.Context(), c, get(t, c), "id"))
	if got := get(t, c).Spec.Debts; len(got) > 0 {
		t.Errorf("debts %v remain", got)
	}
}
