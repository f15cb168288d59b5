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
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// waitForCluster keeps instances from being made before there is a network to
// put them on.
func (r *Reconciler) waitForCluster(_ context.Context, s *scope) error {
	if s.infrastructureProvisioned() || len(s.instances) > 0 {
		return nil
	}
	return reconcile.WaitForEvent(infrav1.WaitingForInfrastructureReason, "waiting for the Cluster's infrastructure to be provisioned")
}

// scale makes and removes instances.
func (r *Reconciler) scale(ctx context.Context, s *scope) error {
	if !s.machinePool.DeletionTimestamp.IsZero() || s.plan().empty() {
		return nil
	}
	if err := s.observe(ctx, r.Live); err != nil {
		return err
	}
	confirmed := r.confirmLost(ctx, s)
	plan := s.plan()
	errs := []error{r.removeAll(ctx, s, plan.remove)}
	secret := s.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName
	if plan.create > 0 && secret == nil {
		return reconcile.Join(confirmed, errors.Join(errs...),
			reconcile.WaitForEvent(infrav1.WaitingForBootstrapDataReason, "waiting for the bootstrap provider to write the data secret"))
	}
	for range plan.create {
		errs = append(errs, r.create(ctx, s, *secret))
	}
	return reconcile.Join(confirmed, errors.Join(errs...))
}

// plan is what is to be done about the instances observed. A Machine without
// its ContainerMachine is of no use.
func (s *scope) plan() plan {
	plan := planFor(s.replicas(), s.desiredReplicas())
	plan.remove = append(plan.remove, s.dangling...)
	return plan
}

// removeAll deletes Machines, so that their Nodes are drained. One that
// Cluster API has not made yet is waited for: it would be made for a
// ContainerMachine that is gone.
func (r *Reconciler) removeAll(ctx context.Context, s *scope, names []string) error {
	var errs []error
	for _, name := range names {
		machine := &clusterv1.Machine{}
		machine.Namespace, machine.Name = s.pool.Namespace, name
		for _, i := range s.instances {
			if i.containerMachine.Name == name {
				machine = i.machine
			}
		}
		if machine == nil {
			continue
		}
		var observed []client.DeleteOption
		if machine.UID != "" {
			observed = append(observed, client.Preconditions{UID: &machine.UID})
		}
		if err := r.Client.Delete(ctx, machine, observed...); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete Machine %q: %w", machine.Name, err))
			continue
		}
		r.Events.Eventf(s.pool, nil, corev1.EventTypeNormal, "ReplicaRemoved", "Remove", "Deleted Machine %s", machine.Name)
	}
	return errors.Join(errs...)
}

// create makes one instance. The rest is Cluster API's, which makes a Machine
// for it, and the machine controller's.
func (r *Reconciler) create(ctx context.Context, s *scope, dataSecret string) error {
	made := s.newContainerMachine(dataSecret)
	if err := r.Client.Create(ctx, made); err != nil {
		r.Events.Eventf(s.pool, nil, corev1.EventTypeWarning, "ReplicaRefused", "Create", "Cannot create a ContainerMachine: %v", err)
		return fmt.Errorf("create ContainerMachine: %w", err)
	}
	// So that the next one is put elsewhere.
	s.instances = append(s.instances, instance{containerMachine: made})
	r.Events.Eventf(s.pool, nil, corev1.EventTypeNormal, "ReplicaCreated", "Create", "Created ContainerMachine %s", made.Name)
	return nil
}

func (s *scope) newContainerMachine(dataSecret string) *infrav1.ContainerMachine {
	made := &infrav1.ContainerMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.pool.Namespace,
			// Node and container are named after it.
			GenerateName: s.pool.Name + "-",
		},
		Spec: infrav1.ContainerMachineSpec{ContainerMachineCommonSpec: *s.pool.Spec.Template.Spec.DeepCopy()},
	}
	s.shape(made)
	if storage := s.pool.Spec.Template.ObjectMeta.Annotations[infrav1.StorageAnnotation]; storage != "" {
		made.Annotations[infrav1.StorageAnnotation] = storage
	}
	made.Annotations[infrav1.VersionAnnotation] = s.machinePool.Spec.Template.Spec.Version
	made.Annotations[infrav1.BootstrapDataSecretAnnotation] = dataSecret
	if domain := s.emptiestFailureDomain(); domain != "" {
		made.Annotations[infrav1.FailureDomainAnnotation] = domain
	}
	return made
}

// shape gives a ContainerMachine what may change while it lives.
func (s *scope) shape(containerMachine *infrav1.ContainerMachine) {
	template := s.pool.Spec.Template
	if containerMachine.Labels == nil {
		containerMachine.Labels = map[string]string{}
	}
	if containerMachine.Annotations == nil {
		containerMachine.Annotations = map[string]string{}
	}
	for name, value := range template.ObjectMeta.Annotations {
		// That one stays what the instance was created with.
		if name != infrav1.StorageAnnotation {
			containerMachine.Annotations[name] = value
		}
	}
	s.recordData(containerMachine)
	maps.Copy(containerMachine.Labels, template.ObjectMeta.Labels)
	maps.Copy(containerMachine.Labels, s.labels())
	containerMachine.Spec.SetMutable(&template.Spec)
	owner := metav1.OwnerReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "ContainerMachinePool", Name: s.pool.Name, UID: s.pool.UID,
	}
	containerMachine.OwnerReferences = util.EnsureOwnerRef(containerMachine.OwnerReferences, owner)
}

// emptiestFailureDomain is the one of the MachinePool's with the fewest
// instances, "" where there are none.
func (s *scope) emptiestFailureDomain() string {
	domains := s.machinePool.Spec.FailureDomains
	if len(domains) == 0 {
		return ""
	}
	instances := map[string]int{}
	for _, i := range s.instances {
		if !i.leaving() && !i.broken() && !i.lost() && !s.outdated(i) {
			instances[i.containerMachine.Annotations[infrav1.FailureDomainAnnotation]]++
		}
	}
	return slices.MinFunc(domains, func(a, b string) int { return instances[a] - instances[b] })
}

// propagate brings to the instances there are what of the template may change
// while they live, and their owner and labels where these got lost.
func (r *Reconciler) propagate(ctx context.Context, s *scope) error {
	var errs []error
	for _, i := range s.instances {
		if i.leaving() || !i.containerMachine.DeletionTimestamp.IsZero() {
			continue
		}
		original := i.containerMachine.DeepCopy()
		s.shape(i.containerMachine)
		if equality.Semantic.DeepEqual(original, i.containerMachine) {
			continue
		}
		// A list of owners is written as a whole.
		changes := client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, i.containerMachine, changes); err != nil {
			errs = append(errs, fmt.Errorf("patch ContainerMachine %q: %w", original.Name, err))
		}
	}
	return errors.Join(errs...)
}

// errNoContainerCluster: nothing says which containers are the cluster's.
var errNoContainerCluster = errors.New("no ContainerCluster found")

// confirmLost asks the engine whether the containers of lost instances are gone: conditions may
// be of a time when another engine responded, or older than a container that was restored. Unless
// it says so, they are kept.
func (r *Reconciler) confirmLost(ctx context.Context, s *scope) error {
	var lost []*instance
	for i := range s.instances {
		if one := &s.instances[i]; one.lost() && !one.leaving() {
			lost = append(lost, one)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	existing, err := r.containers(ctx, s)
	for _, one := range lost {
		name, parseErr := identity.ParseProviderID(one.containerMachine.Spec.ProviderID)
		one.exists = err != nil || parseErr != nil || existing[name]
	}
	if other := new(containercluster.OtherEngineError); errors.As(err, &other) {
		// The machine controller reports it.
		return reconcile.Wait{After: reconcile.UserInterval}
	}
	return err
}

// containers of the cluster, by name.
func (r *Reconciler) containers(ctx context.Context, s *scope) (map[string]bool, error) {
	containerCluster, err := containercluster.Get(ctx, r.Client, s.cluster)
	if err != nil {
		return nil, err
	}
	if containerCluster == nil {
		return nil, fmt.Errorf("get infrastructure of Cluster %q: %w", s.cluster.Name, errNoContainerCluster)
	}
	connection, err := r.Engines.For(containerCluster)
	if err != nil {
		return nil, fmt.Errorf("find engine of the cluster: %w", err)
	}
	leave, entered := r.Slots.Enter(containerCluster)
	if !entered {
		return nil, reconcile.Wait{After: engines.BusyInterval}
	}
	defer leave()
	containers, err := containercluster.RecordOf(containerCluster, s.cluster.Name).Containers(ctx, connection.Engine)
	if err != nil {
		return nil, err
	}
	existing := make(map[string]bool, len(containers))
	for _, container := range containers {
		existing[container.Name] = true
	}
	return existing, nil
}
