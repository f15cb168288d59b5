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
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

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

// watchFor returns a channel that gets a value after events that matter; one value for
// those since the last one was received.
func watchFor(
	ctx context.Context, c client.WithWatch, matters func(watch.Event) bool, list client.ObjectList, options ...client.ListOption,
) <-chan struct{} {
	events := make(chan struct{}, 1)
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		watcher, err := c.Watch(ctx, list, options...)
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
				if matters(event) {
					notify(events)
				}
			}
		}
	}, watchPause)
	return events
}

func notify(events chan<- struct{}) {
	select {
	case events <- struct{}{}:
	default: // One is waiting already.
	}
}
