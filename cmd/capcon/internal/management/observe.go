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

package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// Observed are the objects of a cluster as they were read. Any may be nil.
type Observed struct {
	Cluster        *clusterv1.Cluster
	Infrastructure *infrav1.ContainerCluster
	ControlPlane   *controlplanev1.KubeadmControlPlane
	Workers        []clusterv1.MachineDeployment
	MachineSets    []clusterv1.MachineSet
	Machines       []clusterv1.Machine
	Containers     []infrav1.ContainerMachine
	// HasKubeconfig says that the host's kubeconfig is there; false where the Cluster is
	// being deleted.
	HasKubeconfig bool
}

// Orphaned reports whether no object is left that containers could belong to.
func (o Observed) Orphaned() bool {
	return o.Cluster == nil && o.Infrastructure == nil && len(o.Containers) == 0
}

// Observe reads the objects of a cluster.
func Observe(ctx context.Context, c client.Client, namespace, name string) (Observed, error) {
	observed, err := observeSingles(ctx, c, namespace, name)
	if err != nil {
		return Observed{}, fmt.Errorf("observe cluster %q: %w", name, err)
	}
	ofCluster := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name}}
	machines, containers := &clusterv1.MachineList{}, &infrav1.ContainerMachineList{}
	workers, sets := &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}
	for _, list := range []client.ObjectList{machines, containers, workers, sets} {
		err = errors.Join(err, c.List(ctx, list, ofCluster...))
	}
	if err != nil {
		return Observed{}, fmt.Errorf("observe machines of cluster %q: %w", name, err)
	}
	observed.Machines, observed.Containers, observed.Workers, observed.MachineSets = machines.Items, containers.Items, workers.Items, sets.Items
	if observed.Cluster == nil || !observed.Cluster.DeletionTimestamp.IsZero() {
		return observed, nil
	}
	observed.HasKubeconfig, err = hasKubeconfig(ctx, c, observed)
	return observed, err
}

// hasKubeconfig reads the Secret alone where the ContainerCluster has been observed.
func hasKubeconfig(ctx context.Context, c client.Client, observed Observed) (bool, error) {
	var err error
	if cluster := client.ObjectKeyFromObject(observed.Cluster); observed.Infrastructure != nil {
		_, err = kubeconfigThrough(ctx, c, observed.Infrastructure, cluster)
	} else {
		_, err = Kubeconfig(ctx, c, cluster.Namespace, cluster.Name)
	}
	if errors.Is(err, ErrNoKubeconfig) {
		return false, nil
	}
	return err == nil, err
}

// observeSingles reads the objects that there is one of, by the references of the Cluster:
// one that capcon did not create has other names.
func observeSingles(ctx context.Context, c client.Client, namespace, name string) (Observed, error) {
	r := &reader{client: c, namespace: namespace}
	observed := Observed{Cluster: find[clusterv1.Cluster](ctx, r, name)}
	observed.Infrastructure = find[infrav1.ContainerCluster](ctx, r, infrastructureName(observed.Cluster, name))
	controlPlane := objects.ControlPlaneName(name)
	if observed.Cluster != nil {
		controlPlane = cmp.Or(observed.Cluster.Spec.ControlPlaneRef.Name, controlPlane)
	}
	observed.ControlPlane = find[controlplanev1.KubeadmControlPlane](ctx, r, controlPlane)
	return observed, r.err
}

// reader of the objects of a namespace. After an error it reads nothing more, so that
// who reads several objects looks at err once, behind them.
type reader struct {
	client    client.Client
	namespace string
	err       error
}

// find an object; nil where there is none, or after an error.
func find[T any, P interface {
	*T
	client.Object
}](ctx context.Context, r *reader, name string) P {
	if r.err != nil {
		return nil
	}
	object := P(new(T))
	var found bool
	if found, r.err = get(ctx, r.client, r.namespace, name, object); !found {
		return nil
	}
	return object
}

// watchPause lies between the end of a watch and the next one.
const watchPause = time.Second

// WatchDeletion returns a channel that gets a value when the Cluster is deleted. Callers
// poll all the same: what happens between two watches is not reported.
func WatchDeletion(ctx context.Context, c client.WithWatch, namespace, name string) <-chan struct{} {
	clusters := &metav1.PartialObjectMetadataList{}
	clusters.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("ClusterList"))
	isDeletion := func(event watch.Event) bool { return event.Type == watch.Deleted }
	return watchFor(ctx, c, isDeletion, clusters, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
}

// WatchReadiness returns a channel that gets a value when a Machine of the cluster becomes
// ready. Callers poll all the same, as with WatchDeletion.
func WatchReadiness(ctx context.Context, c client.WithWatch, namespace, name string) <-chan struct{} {
	ready := map[string]bool{}
	becomesReady := func(event watch.Event) bool {
		machine, ok := event.Object.(*clusterv1.Machine)
		if !ok {
			return false // an error of the API server
		}
		before := ready[machine.Name]
		ready[machine.Name] = machineReady(machine)
		return ready[machine.Name] && !before
	}
	return watchFor(ctx, c, becomesReady, &clusterv1.MachineList{},
		client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
}

// WatchChanges returns a channel that gets a value when an object of a cluster changes. Callers poll all the
// same, as with WatchDeletion.
func WatchChanges(ctx context.Context, c client.WithWatch) <-chan struct{} {
	changes := make(chan struct{}, 1)
	for _, list := range []client.ObjectList{
		&clusterv1.ClusterList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{},
		&controlplanev1.KubeadmControlPlaneList{}, &infrav1.ContainerClusterList{}, &infrav1.ContainerMachineList{},
	} {
		go watching{c: c, matters: func(watch.Event) bool { return true }, events: changes}.run(ctx, list)
	}
	return changes
}

// watchFor returns a channel that gets a value after events that matter; one value for
// those since the last one was received.
func watchFor(
	ctx context.Context, c client.WithWatch, matters func(watch.Event) bool, list client.ObjectList, options ...client.ListOption,
) <-chan struct{} {
	events := make(chan struct{}, 1)
	go watching{c: c, matters: matters, events: events}.run(ctx, list, options...)
	return events
}

// watching sends a value for events that matter.
type watching struct {
	c       client.WithWatch
	matters func(watch.Event) bool
	events  chan<- struct{}
}

// run until ctx ends.
func (w watching) run(ctx context.Context, list client.ObjectList, options ...client.ListOption) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		watcher, err := w.c.Watch(ctx, list, options...)
		if err != nil {
			return
		}
		defer watcher.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event, open := <-watcher.ResultChan():
				if !open {
					return
				}
				if w.matters(event) {
					notify(w.events)
				}
			}
		}
	}, watchPause)
}

func notify(events chan<- struct{}) {
	select {
	case events <- struct{}{}:
	default: // One is waiting already.
	}
}
