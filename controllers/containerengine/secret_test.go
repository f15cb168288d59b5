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
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestSecret: it follows its engine with clusterctl move, and is there while clusters are to be removed.
func TestSecret(t *testing.T) {
	t.Parallel()
	other := &infrav1.ContainerEngine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other", UID: "other-uid"},
		Spec:       infrav1.ContainerEngineSpec{Endpoint: "ssh://me@build.example.org", CredentialsSecretName: "credentials"},
	}
	f := newFixture(t, nil, other, clusterOn("c"))
	f.expect("at first", well())
	secret := f.secret()
	owners := func() (names []string) {
		for _, owner := range f.secret().OwnerReferences {
			names = append(names, owner.Kind+"/"+owner.Name+"/"+string(owner.UID))
		}
		return names
	}
	if !slices.Contains(secret.Finalizers, infrav1.EngineCredentialsFinalizer) || !slices.Equal(owners(), []string{"ContainerEngine/build/build-uid"}) {
		t.Errorf("finalizers %v, owners %v", secret.Finalizers, owners())
	}
	must.Succeed(t, f.client.Delete(t.Context(), f.get()))
	f.expect("clusters are on the engine: it is kept, and used", state{"False InUse", "True Reachable", "True HostReady", true, interval})
	if message := conditions.GetMessage(f.get(), infrav1.EngineReadyCondition); !strings.Contains(message, "waits for c ") {
		t.Errorf("the message is %q", message)
	}
	must.Succeed(t, f.client.Delete(t.Context(), clusterOn("c")))
	_, err := f.reconcile()
	must.Succeed(t, err)
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "build"}, &infrav1.ContainerEngine{}); err == nil {
		t.Error("the engine is kept")
	}
	if !slices.Contains(f.secret().Finalizers, infrav1.EngineCredentialsFinalizer) {
		t.Error("the Secret is released, which another engine uses")
	}
	must.Succeed(t, f.client.Delete(t.Context(), other))
	f.engines.Disconnect(types.NamespacedName{Namespace: namespace, Name: "other"}, nil)
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
