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

package commandtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// AddEngine creates a ContainerEngine that the management plane reaches, and returns the engine, which has the images that capcon
// uses by default.
func (w *World) AddEngine(name string) *simulated.Engine {
	w.T.Helper()
	if w.Engines == nil {
		w.Engines = map[string]*simulated.Engine{}
	}
	host := name + ".example.org"
	added := simulated.New(simulated.WithClock(w.Now), simulated.WithInfo(engine.Info{
		Name: "docker", ID: name, StorageID: name, Endpoint: "ssh://me@" + host + ":22/var/run/docker.sock",
	}))
	addImages(added)
	w.Engines[host] = added
	key, known := engineobjects.Key(w.T)
	w.Create(
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-credentials"},
			Data:       map[string][]byte{infrav1.EngineSSHKeyKey: key, infrav1.EngineKnownHostsKey: known},
		},
		&infrav1.ContainerEngine{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name, Annotations: map[string]string{infrav1.EngineAnnotation: name},
			},
			Spec: infrav1.ContainerEngineSpec{Endpoint: "ssh://me@" + host, CredentialsSecretName: name + "-credentials"},
			Status: infrav1.ContainerEngineStatus{Conditions: []metav1.Condition{
				{Type: infrav1.EngineReachableCondition, Status: metav1.ConditionTrue, Reason: infrav1.EngineReachableReason},
				{Type: infrav1.EngineReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready"},
			}},
		})
	return added
}

// WithEngine is a world with a cluster demo that is on the ContainerEngine build, where its container is demo-a.
func WithEngine(t *testing.T) (w *World, build *simulated.Engine) {
	t.Helper()
	w = New(t)
	w.Plane.Current = Running("plane")
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}})
	must.Succeed(t, management.Keep(t.Context(), w.Client)) // as "capcon engine add" does
	build = w.AddEngine("build")
	w.AddContainerOn(build, "demo-a", identity.Owner{Namespace: "default", Cluster: "demo", ID: "demo-id"}, identity.RoleControlPlane)
	on := ContainerCluster("demo", "demo-id")
	on.Spec.EngineName = "build"
	w.Create(on, &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{Kind: "ContainerCluster", Name: "demo"}},
	})
	must.Succeed(t, w.Directory().Save("demo", state.Cluster{OwnerID: "demo-id", EngineName: "build", Plane: "plane"}))
	return w, build
}

// Spread is WithEngine with a worker demo-b of the cluster on the ContainerEngine other.
func Spread(t *testing.T) (w *World, build, other *simulated.Engine) {
	t.Helper()
	w, build = WithEngine(t)
	other = w.AddEngine("other")
	w.AddContainerOn(other, "demo-b", identity.Owner{Namespace: "default", Cluster: "demo", ID: "demo-id"}, identity.RoleWorker)
	for machine, on := range map[string]string{"demo-a": "build", "demo-b": "other"} {
		w.Create(&infrav1.ContainerMachine{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: machine, Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
				Annotations: map[string]string{infrav1.EngineNameAnnotation: on},
			},
			Spec: infrav1.ContainerMachineSpec{ProviderID: identity.ProviderID(machine)},
		})
	}
	return w, build, other
}

// BreakEngine has the management plane report that it does not reach the engine of a ContainerEngine.
func (w *World) BreakEngine(name, message string) {
	w.T.Helper()
	Update(w, name, &infrav1.ContainerEngine{}, func(object *infrav1.ContainerEngine) {
		for i := range object.Status.Conditions {
			condition := &object.Status.Conditions[i]
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, infrav1.EngineUnreachableReason, message
		}
	})
}

// engineOf a cluster.
func (w *World) engineOf(cluster *infrav1.ContainerCluster) *simulated.Engine {
	if name := cluster.Spec.EngineName; name != "" {
		return w.Engines[name+".example.org"]
	}
	return w.Engine
}

// openEngine of a ContainerEngine.
func (w *World) openEngine(endpoint string, dial connect.Dial) engine.Engine {
	byHost := map[string]engine.Engine{}
	for host, one := range w.Engines {
		byHost[host] = unclosed{Engine: one}
	}
	return engineobjects.Open(byHost)(endpoint, dial)
}
