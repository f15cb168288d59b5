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
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/inplace"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/nodefiles"
)

// CanUpdateMachine answers the hook of that name, for a Machine of a control plane.
func (h *Handlers) CanUpdateMachine(ctx context.Context, request *runtimehooksv1.CanUpdateMachineRequest, response *runtimehooksv1.CanUpdateMachineResponse) {
	current, desired := request.Current, request.Desired
	answered, err := h.answer(ctx, question{
		cluster:   client.ObjectKey{Namespace: current.Machine.Namespace, Name: current.Machine.Spec.ClusterName},
		infra:     pair{current.InfrastructureMachine, desired.InfrastructureMachine},
		bootstrap: pair{current.BootstrapConfig, desired.BootstrapConfig},
	})
	if err != nil {
		fail(response, err)
		return
	}
	response.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	response.SetMessage(answered.refusal)
	response.InfrastructureMachinePatch, response.BootstrapConfigPatch = answered.infra, answered.bootstrap
}

// CanUpdateMachineSet answers the hook of that name, for the Machines of a MachineDeployment.
func (h *Handlers) CanUpdateMachineSet(ctx context.Context, request *runtimehooksv1.CanUpdateMachineSetRequest, response *runtimehooksv1.CanUpdateMachineSetResponse) {
	current, desired := request.Current, request.Desired
	answered, err := h.answer(ctx, question{
		cluster:   client.ObjectKey{Namespace: current.MachineSet.Namespace, Name: current.MachineSet.Spec.ClusterName},
		suffix:    "Template",
		infra:     pair{current.InfrastructureMachineTemplate, desired.InfrastructureMachineTemplate},
		bootstrap: pair{current.BootstrapConfigTemplate, desired.BootstrapConfigTemplate},
	})
	if err != nil {
		fail(response, err)
		return
	}
	response.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	response.SetMessage(answered.refusal)
	response.InfrastructureMachineTemplatePatch, response.BootstrapConfigTemplatePatch = answered.infra, answered.bootstrap
}

func fail(response runtimehooksv1.ResponseObject, err error) {
	response.SetStatus(runtimehooksv1.ResponseStatusFailure)
	response.SetMessage(err.Error())
}

// pair of an object as it is and as it is to be.
type pair struct{ current, desired runtime.RawExtension }

// question whether Machines of a cluster can be updated in place.
type question struct {
	cluster client.ObjectKey
	// suffix of the kinds: "Template" or empty.
	suffix           string
	infra, bootstrap pair
}

// answer has the patches of the changes that this provider carries out in running containers. What is left out lets Cluster API
// replace the Machine.
type answer struct {
	infra, bootstrap runtimehooksv1.Patch
	// refusal says why no change is; empty = each is decided by itself.
	refusal string
}

// answer a question; no patches for objects of other providers. A claim that UpdateMachine could not keep would leave the Machine
// stuck.
func (h *Handlers) answer(ctx context.Context, q question) (answered answer, err error) {
	machines, err := read(q.infra, infrav1.GroupVersion.Group, "ContainerMachine"+q.suffix)
	if err != nil || machines == nil {
		return answered, err
	}
	cluster, err := h.containerCluster(ctx, q.cluster)
	if err != nil {
		return answered, err
	}
	if cluster != nil && cluster.Spec.EngineName != "" {
		return answer{refusal: onEngine(cluster.Spec.EngineName)}, nil
	}
	fields, err := h.machineFields(ctx, machines)
	if err != nil {
		return answered, err
	}
	if answered.infra, err = machines.patch(fields); err != nil {
		return answered, err
	}
	configs, err := read(q.bootstrap, bootstrapv1.GroupVersion.Group, "KubeadmConfig"+q.suffix)
	if err != nil || configs == nil {
		return answered, err
	}
	var current, desired bootstrapv1.KubeadmConfigSpec
	if err := configs.decode(&current, &desired); err != nil {
		return answered, err
	}
	if nodefiles.CanChange(&current, &desired) {
		answered.bootstrap, err = configs.patch([][]string{{"files"}})
	}
	return answered, err
}

// machineFields that a running container can get. What the host does not have is none of them.
func (h *Handlers) machineFields(ctx context.Context, machines *specs) ([][]string, error) {
	var current, desired infrav1.ContainerMachineCommonSpec
	if err := machines.decode(&current, &desired); err != nil {
		return nil, err
	}
	lacks := map[string]bool{}
	if !equality.Semantic.DeepEqual(current.Resources, desired.Resources) {
		info, err := h.Host.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("get host info: %w", err)
		}
		var limits node.Resources
		if desired.Resources.CPU != nil {
			limits.MilliCPU = desired.Resources.CPU.MilliValue()
		}
		if desired.Resources.Memory != nil {
			limits.MemoryBytes = desired.Resources.Memory.Value()
		}
		for _, refused := range node.CheckResources(limits, node.Host{MilliCPU: int64(info.CPUs) * 1000, MemoryBytes: info.MemoryBytes}) {
			lacks[refused.Field] = true
		}
	}
	var paths [][]string
	for _, field := range inplace.Accepted(&current, &desired) {
		if !lacks[field.Path[len(field.Path)-1]] {
			paths = append(paths, field.Path)
		}
	}
	return paths, nil
}

// specs of one kind.
type specs struct {
	// path of the specs in their objects.
	path             []string
	current, desired map[string]any
}

// read the specs of a pair; nil where the objects are of another kind.
func read(objects pair, group, kind string) (*specs, error) {
	s := &specs{path: []string{"spec"}}
	for _, one := range []struct {
		raw runtime.RawExtension
		to  *map[string]any
	}{{objects.current, &s.current}, {objects.desired, &s.desired}} {
		object, err := decode(one.raw)
		if err != nil {
			return nil, err
		}
		if gvk := object.GroupVersionKind(); gvk.Group != group || gvk.Kind != kind {
			return nil, nil
		}
		if kind == "ContainerMachineTemplate" || kind == "KubeadmConfigTemplate" {
			s.path = []string{"spec", "template", "spec"}
		}
		if *one.to, _, err = unstructured.NestedMap(object.Object, s.path...); err != nil {
			return nil, fmt.Errorf("read %s: %w", kind, err)
		}
	}
	return s, nil
}

func decode(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("encode object of the request: %w", err)
	}
	if err := utiljson.Unmarshal(data, &object.Object); err != nil {
		return nil, fmt.Errorf("decode object of the request: %w", err)
	}
	return object, nil
}

// decode both specs.
func (s *specs) decode(current, desired any) error {
	for _, one := range []struct {
		from map[string]any
		to   any
	}{{s.current, current}, {s.desired, desired}} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.from, one.to); err != nil {
			return fmt.Errorf("decode spec of the request: %w", err)
		}
	}
	return nil
}

// patch gives the current object the desired values of the fields, as they are written there.
func (s *specs) patch(fields [][]string) (runtimehooksv1.Patch, error) {
	changes := map[string]any{}
	for _, field := range fields {
		before, _, _ := unstructured.NestedFieldNoCopy(s.current, field...)
		after, _, _ := unstructured.NestedFieldNoCopy(s.desired, field...)
		if equality.Semantic.DeepEqual(before, after) {
			continue
		}
		// nil removes the field.
		if err := unstructured.SetNestedField(changes, runtime.DeepCopyJSONValue(after), append(append([]string{}, s.path...), field...)...); err != nil {
			return runtimehooksv1.Patch{}, fmt.Errorf("patch field %v: %w", field, err)
		}
	}
	if len(changes) == 0 {
		return runtimehooksv1.Patch{}, nil
	}
	data, err := json.Marshal(changes)
	if err != nil {
		return runtimehooksv1.Patch{}, fmt.Errorf("encode patch: %w", err)
	}
	return runtimehooksv1.Patch{PatchType: runtimehooksv1.JSONMergePatchType, Patch: data}, nil
}
