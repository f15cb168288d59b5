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

package machine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// defaultBootstrapTimeout is ten times what a bootstrap takes on a laptop:
// longer means that something hangs, not that the machine is slow.
const defaultBootstrapTimeout = 10 * time.Minute

// scope is one reconcile of one ContainerMachine.
type scope struct {
	// Connection to the engine of the machine, from findEngine.
	*engines.Connection
	// engines of the cluster as one, of which that of the machine is the first.
	engines engine.Engine

	clusterName string
	// cluster, containerCluster and machine may be nil while deleting;
	// containerCluster also where the Cluster has other infrastructure.
	cluster          *clusterv1.Cluster
	containerCluster *infrav1.ContainerCluster
	machine          *clusterv1.Machine
	containerMachine *infrav1.ContainerMachine

	// container as observed by this reconcile, nil where it is absent.
	container *engine.Container
	// config is the bootstrap data; empty where it was not needed or there
	// is none any more.
	config userdata.Config
	// registryFiles that the container is created with, contents by their paths from the
	// root. They may have credentials in them.
	registryFiles map[string]string
	// conditions as they were before this reconcile.
	conditions []metav1.Condition
	// notPlaced says why no engine can have the machine; nil = it has one.
	notPlaced *placement.NoEngineError
	// released says that the finalizer was removed, and nothing more is written to the object.
	released bool
	// patchHelper has the object, and recorded its spec.bootstrap, as the API server has them.
	patchHelper *patch.Helper
	recorded    infrav1.MachineBootstrap
}

// hasStarted says that there is a container that was started once. One that never
// was may lack its bootstrap data: its creation is continued.
func (s *scope) hasStarted() bool {
	return s.container != nil && (s.container.Status != engine.StatusCreated || !s.container.StartedAt.IsZero())
}

// owner of the machine's container.
func (s *scope) owner() identity.Owner {
	owner := identity.Owner{Namespace: s.containerMachine.Namespace, Cluster: s.clusterName}
	if s.containerCluster != nil {
		owner.ID = s.containerCluster.Spec.OwnerID
	}
	return owner
}

// hostName of the container, and so of the Node.
func (s *scope) hostName() string { return identity.HostName(s.machine.Name) }

// containerName is that of spec.providerID once there is one: it is what the
// Node knows, whatever a later release would choose.
func (s *scope) containerName() string {
	if name, err := identity.ParseProviderID(s.containerMachine.Spec.ProviderID); err == nil {
		return name
	}
	return s.owner().NodeContainer(s.containerMachine.Name)
}

func (s *scope) networkName() string {
	if s.containerCluster != nil && s.containerCluster.Spec.Network.Name != "" {
		return s.containerCluster.Spec.Network.Name
	}
	return network.DefaultName
}

func (s *scope) families() network.Families {
	return containercluster.Families(s.cluster, s.containerCluster)
}

func (s *scope) role() identity.Role {
	if util.IsControlPlaneMachine(s.machine) {
		return identity.RoleControlPlane
	}
	return identity.RoleWorker
}

// isStopped reports whether the containers of the cluster are kept stopped.
func (s *scope) isStopped() bool {
	_, stopped := s.cluster.GetAnnotations()[infrav1.StoppedAnnotation]
	return stopped
}

// isNode reports whether Cluster API has found the machine's Node.
func (s *scope) isNode() bool { return s.machine.Status.NodeRef.IsDefined() }

// version of Kubernetes the node is made for, "" where it is not set. What a
// Machine of a pool lacks of what its container is made with, the
// ContainerMachine has as annotations.
func (s *scope) version() string {
	return cmp.Or(s.machine.Spec.Version, s.containerMachine.Annotations[infrav1.VersionAnnotation])
}

// dataSecretName is "" while there is none.
func (s *scope) dataSecretName() string {
	return cmp.Or(ptr.Deref(s.machine.Spec.Bootstrap.DataSecretName, ""), s.containerMachine.Annotations[infrav1.BootstrapDataSecretAnnotation])
}

func (s *scope) bootstrapTimeout() time.Duration {
	if timeout := s.containerMachine.Spec.BootstrapTimeout; timeout != nil {
		return timeout.Duration
	}
	return defaultBootstrapTimeout
}

func (s *scope) setContainerReady(status metav1.ConditionStatus, reason, message string) {
	reconcile.SetCondition(s.containerMachine, metav1.Condition{
		Type: infrav1.ContainerReadyCondition, Status: status, Reason: reason, Message: message,
	})
}

func (s *scope) setBootstrapCompleted(status metav1.ConditionStatus, reason, message string) {
	reconcile.SetCondition(s.containerMachine, metav1.Condition{
		Type: infrav1.BootstrapCompletedCondition, Status: status, Reason: reason, Message: message,
	})
}

// Report sets the conditions for an outcome: of its own, or else ContainerReady, of a machine
// whose bootstrap waits for the container.
func (s *scope) Report(outcome error) {
	if reconcile.Report(s.containerMachine, infrav1.ContainerReadyCondition, outcome) {
		s.setBootstrapCompleted(metav1.ConditionFalse, infrav1.WaitingForContainerReason, "")
	}
}

// ownConditions are those the machine controller writes, in the order in
// which a summary names them.
func ownConditions() []string {
	return []string{infrav1.ContainerReadyCondition, infrav1.BootstrapCompletedCondition}
}

// preparePatch begins the patch that ends the reconcile, from the object as the API server
// has it.
func (s *scope) preparePatch(object *infrav1.ContainerMachine, c client.Client) error {
	helper, err := patch.NewHelper(object, c)
	if err != nil {
		return fmt.Errorf("prepare patch: %w", err)
	}
	s.patchHelper, s.recorded = helper, *object.Spec.Bootstrap.DeepCopy()
	return nil
}

// patch writes what the reconcile found. Ready takes status, reason and
// message of the first condition that is not True, so that Ready alone
// says what is wrong.
func (s *scope) patch(ctx context.Context) error {
	if s.released {
		return nil
	}
	ready := metav1.Condition{Type: infrav1.MachineReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason}
	for _, conditionType := range ownConditions() {
		condition := conditions.Get(s.containerMachine, conditionType)
		if condition == nil {
			ready.Status, ready.Reason = metav1.ConditionUnknown, conditions.NotYetReportedReason
			break
		}
		if condition.Status != metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = condition.Status, condition.Reason, condition.Message
			break
		}
	}
	reconcile.SetCondition(s.containerMachine, ready)
	reconcile.SettleConditions(s.containerMachine, s.conditions)
	owned := append(ownConditions(), infrav1.MachineReadyCondition, infrav1.ResourcesConfiguredCondition, infrav1.RegistriesConfiguredCondition, infrav1.UpdatingCondition, clusterv1.PausedCondition)
	if err := s.patchHelper.Patch(ctx, s.containerMachine, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("patch ContainerMachine: %w", err)
	}
	return nil
}
