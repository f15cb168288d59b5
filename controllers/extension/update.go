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

package extension

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	nodes "github.com/capi-samples/cluster-api-provider-container/controllers/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Handlers of the extension.
type Handlers struct {
	// Client reads the objects of a cluster, and marks ContainerMachines.
	Client client.Client
	// Engine runs the nodes.
	Engine engine.Executor
	// Host says how large the engine's host is.
	Host nodes.HostInfo
}

// retryAfterSeconds is how often Cluster API asks for the progress of an update.
const retryAfterSeconds = 5

// errOtherKind says that a request is not for this provider.
var errOtherKind = errors.New("the infrastructure is no ContainerMachine; limit the ExtensionConfig of this provider to namespaces with its Machines")

// UpdateMachine answers the hook of that name. It asks the controller of the ContainerMachine for the update, and reports it as
// done when the node is as desired. A problem is progress with a message, because Cluster API shows that on the Machine, and
// asks again.
func (h *Handlers) UpdateMachine(ctx context.Context, request *runtimehooksv1.UpdateMachineRequest, response *runtimehooksv1.UpdateMachineResponse) {
	remaining, err := h.update(ctx, request.Desired)
	if errors.Is(err, errOtherKind) {
		fail(response, err)
		return
	}
	if err != nil {
		remaining = err.Error()
	}
	response.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	if remaining != "" {
		response.SetMessage(remaining)
		response.SetRetryAfterSeconds(retryAfterSeconds)
	}
}

// update returns what the node lacks; empty = nothing.
func (h *Handlers) update(ctx context.Context, desired runtimehooksv1.UpdateMachineRequestObjects) (string, error) {
	own := &infrav1.ContainerMachine{}
	if err := decodeInto(desired.InfrastructureMachine, infrav1.GroupVersion.Group, "ContainerMachine", own); err != nil {
		return "", err
	}
	existing := &infrav1.ContainerMachine{}
	if err := h.Client.Get(ctx, client.ObjectKeyFromObject(own), existing); err != nil {
		return "", fmt.Errorf("get ContainerMachine %q: %w", own.Name, err)
	}
	if name, isElsewhere := existing.Annotations[infrav1.EngineNameAnnotation]; isElsewhere {
		return onEngine(name) + ": delete Machine " + desired.Machine.Name + ", which its owner replaces", nil
	}
	if _, isRequested := existing.Annotations[infrav1.UpdateRequestedAnnotation]; !isRequested {
		return "ask the controller of ContainerMachine " + own.Name + " for the update", h.request(ctx, existing)
	}
	container, err := identity.ParseProviderID(own.Spec.ProviderID)
	if err != nil {
		return "", fmt.Errorf("find the container of ContainerMachine %q: %w", own.Name, err)
	}
	cluster, err := h.containerCluster(ctx, client.ObjectKey{Namespace: desired.Machine.Namespace, Name: desired.Machine.Spec.ClusterName})
	if err != nil {
		return "", err
	}
	config := &bootstrapv1.KubeadmConfig{}
	if err := decodeInto(desired.BootstrapConfig, bootstrapv1.GroupVersion.Group, "KubeadmConfig", config); err != nil && !errors.Is(err, errOtherKind) {
		return "", err
	}
	files, err := nodes.Files(ctx, h.Client, &desired.Machine, &config.Spec)
	if err != nil {
		return "", err //nolint:wrapcheck // it says what was read
	}
	remaining, err := nodes.Desired{Limits: nodes.Resources(&desired.Machine, own, cluster), Files: files}.Remaining(ctx, h.Engine, h.Host, container)
	if err != nil {
		return "", err //nolint:wrapcheck // it says what was observed
	}
	if remaining == "" {
		return "", nil
	}
	return cmp.Or(problem(existing), remaining), nil
}

// onEngine says why Machines of a ContainerEngine are replaced: a request reaches any manager, but only the one that leads is
// connected to the engine, and the host of another engine bounds the limits.
func onEngine(name string) string {
	return "nodes on a ContainerEngine, here " + name + ", are not updated in place"
}

// request the update of the controller. Its events say so to the manager that leads.
func (h *Handlers) request(ctx context.Context, machine *infrav1.ContainerMachine) error {
	before := machine.DeepCopy()
	if machine.Annotations == nil {
		machine.Annotations = map[string]string{}
	}
	machine.Annotations[infrav1.UpdateRequestedAnnotation] = ""
	if err := h.Client.Patch(ctx, machine, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotate ContainerMachine %q: %w", machine.Name, err)
	}
	return nil
}

// problem that the controller has with the update; empty = none.
func problem(machine *infrav1.ContainerMachine) string {
	if condition := conditions.Get(machine, infrav1.UpdatingCondition); condition != nil && condition.Reason != infrav1.UpdatedReason {
		return condition.Message
	}
	if condition := conditions.Get(machine, infrav1.ResourcesConfiguredCondition); condition != nil {
		return condition.Message
	}
	return ""
}

// containerCluster of a Cluster; nil where it has other infrastructure.
func (h *Handlers) containerCluster(ctx context.Context, of client.ObjectKey) (*infrav1.ContainerCluster, error) {
	cluster, err := util.GetClusterByName(ctx, h.Client, of.Namespace, of.Name)
	if err != nil {
		return nil, fmt.Errorf("get Cluster %q: %w", of.Name, err)
	}
	reference := cluster.Spec.InfrastructureRef
	if reference.Kind != "ContainerCluster" {
		return nil, nil
	}
	containerCluster := &infrav1.ContainerCluster{}
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: reference.Name}, containerCluster); err != nil {
		return nil, fmt.Errorf("get ContainerCluster %q: %w", reference.Name, err)
	}
	return containerCluster, nil
}

// decodeInto an object of that kind.
func decodeInto(raw runtime.RawExtension, group, kind string, into any) error {
	object, err := decode(raw)
	if err != nil {
		return err
	}
	if gvk := object.GroupVersionKind(); gvk.Group != group || gvk.Kind != kind {
		return errOtherKind
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return fmt.Errorf("decode %s of the request: %w", kind, err)
	}
	return nil
}
