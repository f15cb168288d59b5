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

package machinepool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels/format"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// machineKind is the kind of a pool's instances.
const machineKind = "ContainerMachine"

// instance is a ContainerMachine of the pool with the Machine that Cluster
// API makes for it, which is nil until then.
type instance struct {
	containerMachine *infrav1.ContainerMachine
	machine          *clusterv1.Machine
	// exists: its container does, whatever its condition says, or may exist.
	exists bool
}

// observe finds the instances of the pool, sorted by name, and the Machines
// whose ContainerMachine is gone.
func (s *scope) observe(ctx context.Context, reader client.Reader) error {
	inNamespace := client.InNamespace(s.pool.Namespace)
	containerMachines := &infrav1.ContainerMachineList{}
	if err := reader.List(ctx, containerMachines, inNamespace); err != nil {
		return fmt.Errorf("list ContainerMachines: %w", err)
	}
	machines := &clusterv1.MachineList{}
	if err := reader.List(ctx, machines, inNamespace); err != nil {
		return fmt.Errorf("list Machines: %w", err)
	}
	unclaimed := map[string]*clusterv1.Machine{}
	for i := range machines.Items {
		if machine := &machines.Items[i]; machine.Spec.InfrastructureRef.Kind == machineKind {
			unclaimed[machine.Spec.InfrastructureRef.Name] = machine
		}
	}
	s.instances, s.dangling = nil, nil
	for i := range containerMachines.Items {
		containerMachine := &containerMachines.Items[i]
		// Whatever has become of its labels, a Machine is not dangling while
		// its ContainerMachine is there.
		machine := unclaimed[containerMachine.Name]
		delete(unclaimed, containerMachine.Name)
		if s.has(containerMachine) {
			s.instances = append(s.instances, instance{containerMachine: containerMachine, machine: machine})
		}
	}
	for _, machine := range unclaimed {
		if s.labeled(machine) && machine.DeletionTimestamp.IsZero() {
			s.dangling = append(s.dangling, machine.Name)
		}
	}
	slices.SortFunc(s.instances, func(a, b instance) int {
		return strings.Compare(a.containerMachine.Name, b.containerMachine.Name)
	})
	return nil
}

// labels by which Cluster API finds the instances of the pool.
func (s *scope) labels() map[string]string {
	return map[string]string{
		clusterv1.ClusterNameLabel:     s.clusterName,
		clusterv1.MachinePoolNameLabel: format.MustFormatValue(s.machinePoolName),
	}
}

// labeled says whether an object has the labels of the pool's instances. No
// object has those of a pool that has lost the reference to its MachinePool:
// by an absent name, every other Machine of the Cluster would be the pool's.
func (s *scope) labeled(object client.Object) bool {
	if s.clusterName == "" || s.machinePoolName == "" {
		return false
	}
	return labels.SelectorFromSet(s.labels()).Matches(labels.Set(object.GetLabels()))
}

// has says whether a ContainerMachine is one of the pool: by its labels or by
// its owner, of which one may get lost.
func (s *scope) has(containerMachine *infrav1.ContainerMachine) bool {
	return s.labeled(containerMachine) ||
		util.IsOwnedByObject(containerMachine, s.pool, infrav1.GroupVersion.WithKind("ContainerMachinePool").GroupKind())
}

// outdated says whether an instance is made otherwise than is desired now. What
// bootstrap providers renew in a data secret, for instances to come, does not count.
func (s *scope) outdated(i instance) bool {
	template, made := s.pool.Spec.Template.Spec, i.containerMachine
	desired := s.machinePool.Spec.Template.Spec
	secret := desired.Bootstrap.DataSecretName
	return !equality.Semantic.DeepEqual(made.Spec.Immutable(), template.Immutable()) ||
		made.Annotations[infrav1.VersionAnnotation] != desired.Version ||
		made.Annotations[infrav1.StorageAnnotation] != s.pool.Spec.Template.ObjectMeta.Annotations[infrav1.StorageAnnotation] ||
		secret != nil && made.Annotations[infrav1.BootstrapDataSecretAnnotation] != *secret ||
		s.hasOtherData(made)
}

// leaving: it is being removed. A ContainerMachine that is deleted alone is
// not: its Machine has to go too.
func (i instance) leaving() bool {
	if i.machine == nil {
		return !i.containerMachine.DeletionTimestamp.IsZero()
	}
	return !i.machine.DeletionTimestamp.IsZero()
}

// ready: Cluster API finds container and Node ready.
func (i instance) ready() bool {
	return i.machine != nil && conditions.IsTrue(i.machine, clusterv1.MachineAvailableCondition)
}

// unknown: nothing is known of its container, as while the engine is down.
func (i instance) unknown() bool {
	return conditions.IsUnknown(i.containerMachine, infrav1.MachineReadyCondition) && conditions.Has(i.containerMachine, infrav1.MachineReadyCondition)
}

// lost: its container is gone and the Node with it.
func (i instance) lost() bool {
	return !i.exists && conditions.GetReason(i.containerMachine, infrav1.ContainerReadyCondition) == infrav1.ContainerNotFoundReason
}

// broken: a MachineHealthCheck wants it replaced, or a user deleted the ContainerMachine
// alone.
func (i instance) broken() bool {
	if !i.containerMachine.DeletionTimestamp.IsZero() {
		return true
	}
	return i.machine != nil && collections.IsUnhealthyAndOwnerRemediated(i.machine)
}

// removeFirst: a user requested that it be removed before others.
func (i instance) removeFirst() bool {
	if i.machine == nil {
		return false
	}
	_, requested := i.machine.Annotations[clusterv1.DeleteMachineAnnotation]
	return requested
}

// state in one word, of an instance that is not ready.
func (i instance) state() string {
	if condition := conditions.Get(i.containerMachine, infrav1.MachineReadyCondition); condition == nil || condition.Status != metav1.ConditionTrue {
		return conditions.GetReason(i.containerMachine, infrav1.MachineReadyCondition)
	}
	return "NodeNotReady"
}

func (s *scope) replicas() []replica {
	replicas := make([]replica, 0, len(s.instances))
	for _, i := range s.instances {
		replicas = append(replicas, replica{
			name:     i.containerMachine.Name,
			created:  i.containerMachine.CreationTimestamp.Time,
			ready:    i.ready(),
			outdated: s.outdated(i),
			first:    i.removeFirst(),
			broken:   i.broken(),
			lost:     i.lost(),
			leaving:  i.leaving(),
		})
	}
	return replicas
}

// status of an instance, for users to read.
func (i instance) status() infrav1.ContainerMachinePoolInstance {
	return infrav1.ContainerMachinePoolInstance{
		InstanceName: i.containerMachine.Name,
		ProviderID:   i.containerMachine.Spec.ProviderID,
		Version:      i.containerMachine.Annotations[infrav1.VersionAnnotation],
		Addresses:    i.containerMachine.Status.Addresses,
		Ready:        ptr.To(i.ready()),
	}
}

// readData of the MachinePool as far as there is any. The machine controller reports data that
// is invalid.
func (r *Reconciler) readData(ctx context.Context, s *scope) error {
	name := s.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName
	if name == nil {
		return nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.machinePool.Namespace, Name: *name}
	if err := client.IgnoreNotFound(r.Client.Get(ctx, key, secret)); err != nil {
		return fmt.Errorf("get bootstrap data Secret %q: %w", key.Name, err)
	}
	// Of no instance: what a template takes from it is not another configuration.
	config, err := bootstrap.Parse(secret.Data["value"], string(secret.Data["format"]), userdata.Instance{})
	if err != nil {
		return nil //nolint:nilerr // See above.
	}
	if s.dataHash, err = config.Hash(); err != nil {
		return fmt.Errorf("hash bootstrap data Secret %q: %w", key.Name, err)
	}
	return nil
}

// hasOtherData reports whether an instance was bootstrapped with other data than that of now, as
// far as that is recorded.
func (s *scope) hasOtherData(made *infrav1.ContainerMachine) bool {
	recorded := made.Annotations[infrav1.BootstrapDataHashAnnotation]
	return userdata.SameVersion(recorded, s.dataHash) && recorded != s.dataHash
}

// recordData on an instance that is new, or was created by a release that recorded nothing that
// can be compared.
func (s *scope) recordData(made *infrav1.ContainerMachine) {
	if s.dataHash != "" && !userdata.SameVersion(made.Annotations[infrav1.BootstrapDataHashAnnotation], s.dataHash) {
		metav1.SetMetaDataAnnotation(&made.ObjectMeta, infrav1.BootstrapDataHashAnnotation, s.dataHash)
	}
}
