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

// Package volumebinding binds PersistentVolumes of storage type Cluster into the nodes whose Pods use
// them, and out of others. Which is which follows from Pods, claims and Nodes of the workload
// cluster, and from what the nodes have mounted; package clustervolume decides and acts.
package volumebinding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// settleTimeout bounds one observation of all nodes, which takes tenths of a second.
	settleTimeout = time.Minute
	// concurrent is how many nodes are observed at the same time.
	concurrent = 8
	// While Pods wait, nodes are looked at again after minRetry, which doubles up to maxRetry.
	minRetry, maxRetry = 500 * time.Millisecond, 15 * time.Second
)

// Engine is what binding needs of an engine.
type Engine interface {
	engine.ContainerReader
	engine.Executor
	engine.Host
}

// Options of Run.
type Options struct {
	Engine Engine
	// Recorded are the owner of the nodes' containers, and their engine.
	Recorded containercluster.EngineRecord
	// Changed receives if containers of nodes may have changed.
	Changed <-chan struct{}
	// Retain records the names of PersistentVolumes whose data is kept when the cluster is deleted.
	Retain func(ctx context.Context, change func(names []string) []string) error
}

// binder of one cluster.
type binder struct {
	Options
	client  kubernetes.Interface
	clock   clock.Clock
	pods    listers.PodLister
	claims  listers.PersistentVolumeClaimLister
	volumes listers.PersistentVolumeLister
	nodes   listers.NodeLister
	// settled are the uses of which all were satisfied when they were observed last; a hint that
	// saves commands, and no record.
	settled string
}

// Run binds until ctx ends.
func Run(ctx context.Context, client kubernetes.Interface, options Options) error {
	return run(ctx, client, clock.RealClock{}, options)
}

func run(ctx context.Context, client kubernetes.Interface, clock clock.Clock, options Options) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(strip))
	core := factory.Core().V1()
	b := &binder{
		Options: options, client: client, clock: clock,
		pods: core.Pods().Lister(), claims: core.PersistentVolumeClaims().Lister(),
		volumes: core.PersistentVolumes().Lister(), nodes: core.Nodes().Lister(),
	}
	dirty := make(chan struct{}, 1)
	signal := func() {
		select {
		case dirty <- struct{}{}:
		default:
		}
	}
	for _, informer := range []cache.SharedIndexInformer{
		core.Pods().Informer(), core.PersistentVolumeClaims().Informer(), core.PersistentVolumes().Informer(), core.Nodes().Informer(),
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { signal() }, UpdateFunc: func(any, any) { signal() }, DeleteFunc: func(any) { signal() },
		}); err != nil {
			return fmt.Errorf("watch the workload cluster: %w", err)
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced && ctx.Err() == nil {
			return fmt.Errorf("watch %s of the workload cluster: %w", kind, errNotSynced)
		}
	}
	b.loop(ctx, dirty)
	return nil
}

var errNotSynced = errors.New("the informer is not synced")

// loop settles after each change, and again while Pods wait.
func (b *binder) loop(ctx context.Context, dirty <-chan struct{}) {
	delay := minRetry
	for ctx.Err() == nil {
		wait, err := b.reconcile(ctx)
		if err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to bind PersistentVolumes; retrying")
		}
		var retry <-chan time.Time
		if wait || err != nil {
			retry = b.clock.After(delay)
			delay = min(2*delay, maxRetry)
		} else {
			delay = minRetry
		}
		select {
		case <-ctx.Done():
		case <-dirty:
		case <-b.Changed:
			b.settled, delay = "", minRetry
		case <-retry:
		}
	}
}

// reconcile once. It reports whether Pods wait.
func (b *binder) reconcile(ctx context.Context) (wait bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	volumes, err := b.volumes.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("list PersistentVolumes: %w", err)
	}
	volumes = slices.DeleteFunc(slices.Clone(volumes), func(v *corev1.PersistentVolume) bool { return !IsShared(v) })
	var directories map[string]clustervolume.Token
	uses, err := b.uses(volumes)
	if err != nil {
		return false, err
	}
	settling := clustervolume.Nodes{Engine: b.Engine, Concurrent: concurrent, List: func(ctx context.Context) ([]engine.Container, error) {
		return b.Recorded.Containers(ctx, b.Engine)
	}}
	if key := keyOf(uses); key != b.settled {
		b.settled = ""
		state, blocked, err := settling.Settle(ctx, plain(uses))
		if err != nil {
			return true, fmt.Errorf("bind PersistentVolumes: %w", err)
		}
		directories, wait = state.Directories, len(blocked) > 0
		if err := b.report(ctx, state, uses, blocked); err != nil {
			return true, err
		}
		if !wait {
			b.settled = key
		}
	}
	return wait, b.retain(ctx, volumes, directories)
}

// retain records the PersistentVolumes whose data is kept when the cluster is deleted: those with
// the policy, and those that had it when their objects were deleted, as long as they have data.
func (b *binder) retain(ctx context.Context, volumes []*corev1.PersistentVolume, directories map[string]clustervolume.Token) error {
	if err := b.Retain(ctx, func(before []string) []string { return retained(before, volumes, directories) }); err != nil {
		return fmt.Errorf("record PersistentVolumes with reclaim policy Retain: %w", err)
	}
	return nil
}

func retained(before []string, volumes []*corev1.PersistentVolume, directories map[string]clustervolume.Token) []string {
	var names []string
	for _, name := range before {
		exists := slices.ContainsFunc(volumes, func(v *corev1.PersistentVolume) bool { return v.Name == name })
		if _, hasData := directories[name]; !exists && (hasData || directories == nil) {
			names = append(names, name)
		}
	}
	for _, volume := range volumes {
		if volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
			names = append(names, volume.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// IsShared reports whether a PersistentVolume is a directory of the volume of the cluster.
func IsShared(volume *corev1.PersistentVolume) bool {
	return volume.Spec.Local != nil && clustervolume.IsPath(volume.Spec.Local.Path, volume.Name)
}

// strip what is not needed of objects that there may be many of.
func strip(object any) (any, error) {
	if pod, isPod := object.(*corev1.Pod); isPod {
		return &corev1.Pod{
			TypeMeta: pod.TypeMeta, ObjectMeta: strippedMeta(pod),
			Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName, Volumes: claimsOnly(pod.Spec.Volumes)}, Status: corev1.PodStatus{Phase: pod.Status.Phase},
		}, nil
	}
	return object, nil
}

// keyOf uses: two with the same key need the same mounts.
func keyOf(uses []use) string {
	var text strings.Builder
	for _, use := range uses {
		fmt.Fprintf(&text, "%s %t %s\n", use.Volume, use.Shared, strings.Join(use.Containers, " "))
	}
	return text.String()
}
