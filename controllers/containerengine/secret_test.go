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

package containerengine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestSecretIsMoved: clusterctl moves no engine whose Secret it would leave behind. The manager changes no Secret.
func TestSecretIsMoved(t *testing.T) {
	t.Parallel()
	const blockMove = clusterctlv1.BlockMoveAnnotation
	cases := map[string]struct {
		reason string
		change func(*infrav1.ContainerEngine, *corev1.Secret)
		want   string
	}{
		"Labeled": {
			reason: "clusterctl moves it by itself.",
			change: func(_ *infrav1.ContainerEngine, s *corev1.Secret) {
				s.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}
			},
		},
		"Owned": {
			reason: "clusterctl moves what the engine owns.",
			change: func(e *infrav1.ContainerEngine, s *corev1.Secret) {
				s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ContainerEngine", Name: e.Name, UID: e.UID}}
			},
		},
		"Neither": {reason: "It would be left behind.", want: "credentials"},
		"Blocked": {
			reason: "What a user set stays.",
			change: func(e *infrav1.ContainerEngine, s *corev1.Secret) {
				s.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}
				e.Annotations = map[string]string{blockMove: "mine"}
			},
			want: "mine",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tc.change)
			before := f.secret()
			f.expect(tc.reason, well())
			if got := f.get().Annotations[blockMove]; got != tc.want {
				t.Errorf("%s The annotation is %q, want %q", tc.reason, got, tc.want)
			}
			message := conditions.GetMessage(f.get(), infrav1.EngineReachableCondition)
			if says := strings.Contains(message, clusterctlv1.ClusterctlMoveLabel); says != (tc.want == "credentials") {
				t.Errorf("the message is %q", message)
			}
			if diff := cmp.Diff(before, f.secret()); diff != "" {
				t.Errorf("the Secret is changed (-before, +after):\n%s", diff)
			}
			labeled := f.secret()
			labeled.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}
			must.Succeed(t, f.client.Update(t.Context(), labeled))
			f.expect("It is labeled.", well())
			if _, isBlocked := f.get().Annotations[blockMove]; isBlocked != (tc.want == "mine") {
				t.Errorf("labeled: the annotations are %v", f.get().Annotations)
			}
		})
	}
}

// TestSecretIsDeleted: the engine is not used any more, unless it is being deleted too, as with the namespace: what is on it
// is to be removed.
func TestSecretIsDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, clusterOn("c"))
	f.expect("at first", well())
	must.Succeed(t, f.client.Delete(t.Context(), f.secret()))
	f.expect("the Secret is gone", unused(infrav1.EngineCredentialsInvalidReason, interval))
	must.Succeed(t, f.client.Delete(t.Context(), f.get()))
	f.expect("the engine is deleted too", state{"False InUse", "True Reachable", "True HostReady", true, interval})
	if message := conditions.GetMessage(f.get(), infrav1.EngineReadyCondition); !strings.Contains(message, "waits for c ") {
		t.Errorf("the message is %q", message)
	}
	f.engines.Disconnect(types.NamespacedName{Namespace: namespace, Name: "build"}, nil)
	f.expect("another manager has no credentials", state{"False InUse", "False CredentialsInvalid", "Unknown HostUnknown", false, interval})
	must.Succeed(t, f.client.Delete(t.Context(), clusterOn("c")))
	_, err := f.reconcile()
	must.Succeed(t, err)
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "build"}, &infrav1.ContainerEngine{}); err == nil {
		t.Error("the engine is kept")
	}
}

// TestMovedAway: the manager of the former management cluster releases the engine.
func TestMovedAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, clusterOn("c"))
	f.expect("at first", well())
	f.edit(func(e *infrav1.ContainerEngine) { e.Annotations[clusterctlv1.DeleteForMoveAnnotation] = "" })
	f.engine.ResetJournal()
	_, err := f.reconcile()
	must.Succeed(t, err)
	if _, err := f.engines.For(clusterOn("c")); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("the engine is used: %v", err)
	}
	for _, call := range f.engine.Journal() {
		t.Errorf("called the engine: %v", call)
	}
	must.Succeed(t, f.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "build"}, &infrav1.ContainerEngine{}))
}
