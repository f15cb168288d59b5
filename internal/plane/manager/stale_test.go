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

package manager

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	featuretesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/etcd"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/reconcilers/kubeadmcontrolplane"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/index"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager/readyourwrites"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// replicas of the MachineDeployment.
const replicas = 3

// longestDelay of an event in a stale cache. Each event of a Machine has it, and others
// have less than half of it, so that a MachineSet is always reconciled before the cache has
// the Machines that it created.
const longestDelay = 2 * time.Second

// TestIntegrationStaleCaches has caches that are stale by up to two seconds.
//
//nolint:tparallel // Feature gates are the process's.
func TestIntegrationStaleCaches(t *testing.T) {
	featuretesting.SetFeatureGateDuringTest(t, feature.Gates, feature.ReconcilerRateLimiting, false)
	config := env.Start(t)

	t.Run("Unprotected", func(t *testing.T) {
		t.Parallel()
		unprotected := start(t, config, "unprotected", func(*rest.Config, *readyourwrites.Informers) {})
		if got := unprotected.scale(t, replicas); got.created <= replicas || got.controlPlanes <= 1 {
			t.Errorf("%+v; the caches were not stale, and the test proves nothing", got)
		}
	})
	t.Run("Protected", func(t *testing.T) {
		t.Parallel()
		protected := start(t, config, "protected", func(config *rest.Config, informers *readyourwrites.Informers) { config.Wrap(informers.Wrap) })
		if got, want := protected.scale(t, replicas, 1), (counts{controlPlanes: 1, machineSets: 1, created: replicas, deleted: replicas - 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		protected.readBack(t)
	})
}

// stale is a manager with stale caches, and with the controllers of MachineDeployments and
// MachineSets in one namespace.
type stale struct {
	namespace string
	manager   ctrl.Manager
	// live reads from the API server.
	live client.WithWatch
}

func start(t *testing.T, config *rest.Config, namespace string, protect func(*rest.Config, *readyourwrites.Informers)) stale {
	t.Helper()
	scheme := must.Get(newScheme([]func(*runtime.Scheme) error{infrav1.AddToScheme}))(t)
	live := must.Get(client.NewWithWatch(config, client.Options{Scheme: scheme}))(t)
	must.Succeed(t, live.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	informers := readyourwrites.New(scheme)
	caches := must.Get(informers.Watch(cache.Options{
		Scheme: scheme, NewInformer: newStaleInformer, DefaultNamespaces: map[string]cache.Config{namespace: {}},
	}))(t)
	cfg := restConfig(config)
	protect(cfg, informers)
	mgr := must.Get(createManager(cfg, caches, Options{HealthAddress: "0", MetricsAddress: "0"}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	must.Succeed(t, index.AddDefaultIndexes(ctx, mgr))
	options := (&provider{opts: Options{Concurrency: 1}}).concurrently(quick)
	options.SkipNameValidation = ptr.To(true)
	clusters := clustercache.NewFakeEmptyClusterCache()
	must.Succeed(t, (&kubeadmcontrolplane.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), SecretCachingClient: mgr.GetClient(), ClusterCache: clusters,
		EtcdDialTimeout: etcdDialTimeout, EtcdCallTimeout: etcd.DefaultCallTimeout, EtcdLogger: zap.NewNop(),
		RemoteConditionsGracePeriod: remoteConditionsGracePeriod,
	}).SetupWithManager(ctx, mgr, options))
	must.Succeed(t, (&machinedeployment.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader()}).SetupWithManager(ctx, mgr, options))
	must.Succeed(t, (&machineset.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), ClusterCache: clusters,
	}).SetupWithManager(ctx, mgr, options))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	return stale{namespace: namespace, manager: mgr, live: live}
}

// newStaleInformer returns an informer whose events are late.
func newStaleInformer(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	from := toolscache.ToListerWatcherWithContext(lw)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: from.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := from.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			if _, isMachine := object.(*clusterv1.Machine); isMachine {
				return delay(events, func() time.Duration { return longestDelay }), nil
			}
			return delay(events, func() time.Duration { return rand.N(longestDelay / 2) }), nil
		},
	}, object, resync, indexers)
}

// delay each event, without changing their order.
func delay(from watch.Interface, duration func() time.Duration) watch.Interface {
	type late struct {
		watch.Event

		due time.Time
	}
	queue, events := make(chan late, 1000), make(chan watch.Event)
	to := watch.NewProxyWatcher(events)
	go func() {
		defer close(queue)
		for event := range from.ResultChan() {
			queue <- late{event, time.Now().Add(duration())}
		}
	}()
	go func() {
		defer close(events)
		defer from.Stop()
		for event := range queue {
			select {
			case <-time.After(time.Until(event.due)):
			case <-to.StopChan():
				return
			}
			select {
			case events <- event.Event:
			case <-to.StopChan():
				return
			}
		}
	}()
	return to
}

// counts of control planes, MachineSets and Machines of these that were created, and of Machines
// that were deleted.
type counts struct{ controlPlanes, machineSets, created, deleted int }

// scale a MachineDeployment to numbers of replicas in turn, and count on the way.
func (s stale) scale(t *testing.T, numbers ...int32) counts {
	t.Helper()
	machines := must.Get(s.live.Watch(t.Context(), &clusterv1.MachineList{}, client.InNamespace(s.namespace)))(t)
	defer machines.Stop()
	s.createControlPlane(t)
	deployment := s.createDeployment(t)
	var got counts
	for _, number := range numbers {
		patch := client.MergeFrom(deployment.DeepCopy())
		deployment.Spec.Replicas = ptr.To(number)
		must.Succeed(t, s.live.Patch(t.Context(), deployment, patch))
		s.settle(t, deployment, machines, &got)
	}
	return got
}

// settle counts until status says that the replicas are as wanted, and nothing has
// happened for twice the longest delay.
func (s stale) settle(t *testing.T, deployment *clusterv1.MachineDeployment, machines watch.Interface, got *counts) {
	t.Helper()
	quiet, limit := time.NewTimer(2*longestDelay), time.After(2*time.Minute)
	sets := &clusterv1.MachineSetList{}
	for {
		select {
		case event := <-machines.ResultChan():
			switch event.Type {
			case watch.Added:
				got.add(event.Object.(*clusterv1.Machine)) //nolint:forcetypeassert // It watches Machines.
				if got.created > replicas && got.controlPlanes > 1 {
					return // one too many of each, which is all there is to know
				}
			case watch.Modified:
				s.finalize(t, event.Object.(*clusterv1.Machine)) //nolint:forcetypeassert // It watches Machines.
			case watch.Deleted:
				got.deleted++
			default:
			}
			quiet.Reset(2 * longestDelay)
		case <-quiet.C:
			must.Succeed(t, s.live.List(t.Context(), sets, client.InNamespace(s.namespace)))
			got.machineSets = len(sets.Items)
			must.Succeed(t, s.live.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
			if ptr.Deref(deployment.Status.Replicas, 0) == *deployment.Spec.Replicas && got.controlPlanes > 0 {
				return
			}
			quiet.Reset(2 * longestDelay)
		case <-limit:
			t.Fatalf("want %d replicas of the MachineDeployment, and a control plane: %+v, %+v", *deployment.Spec.Replicas, deployment.Status, got)
		}
	}
}

func (c *counts) add(machine *clusterv1.Machine) {
	if util.IsControlPlaneMachine(machine) {
		c.controlPlanes++
	} else {
		c.created++
	}
}

// finalize a Machine as its controller does, which does not run here.
func (s stale) finalize(t *testing.T, machine *clusterv1.Machine) {
	t.Helper()
	if machine.DeletionTimestamp == nil || len(machine.Finalizers) == 0 {
		return
	}
	patch := client.MergeFrom(machine.DeepCopy())
	machine.Finalizers = nil
	if err := s.live.Patch(t.Context(), machine, patch); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// createControlPlane of one replica, in a Cluster of its own whose infrastructure is provisioned.
func (s stale) createControlPlane(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "planes"}
	cluster := &clusterv1.Cluster{ObjectMeta: meta, Spec: clusterv1.ClusterSpec{
		ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443},
		ControlPlaneRef:      clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: meta.Name},
		InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: meta.Name},
	}}
	must.Succeed(t, s.live.Create(t.Context(), cluster))
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	must.Succeed(t, s.live.Status().Update(t.Context(), cluster))
	must.Succeed(t, s.live.Create(t.Context(), &infrav1.ContainerMachineTemplate{ObjectMeta: meta}))
	owned := meta
	owned.Labels = map[string]string{clusterv1.ClusterNameLabel: meta.Name}
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cluster, clusterv1.GroupVersion.WithKind("Cluster"))}
	controlPlane := &controlplanev1.KubeadmControlPlane{ObjectMeta: owned}
	controlPlane.Spec.Replicas, controlPlane.Spec.Version = ptr.To[int32](1), "v1.36.3"
	controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerMachineTemplate", Name: meta.Name,
	}
	must.Succeed(t, s.live.Create(t.Context(), controlPlane))
}

// createDeployment without replicas, and what it refers to.
func (s stale) createDeployment(t *testing.T) *clusterv1.MachineDeployment {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "demo"}
	reference := func(kind string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: meta.Name}
	}
	cluster := &clusterv1.Cluster{ObjectMeta: meta, Spec: clusterv1.ClusterSpec{InfrastructureRef: reference("ContainerCluster")}}
	labels := map[string]string{clusterv1.ClusterNameLabel: meta.Name, "deployment": meta.Name}
	deployment := &clusterv1.MachineDeployment{ObjectMeta: meta, Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: meta.Name, Replicas: ptr.To[int32](0), Selector: metav1.LabelSelector{MatchLabels: labels},
		// The webhook that sets it does not run here.
		Rollout: clusterv1.MachineDeploymentRolloutSpec{Strategy: clusterv1.MachineDeploymentRolloutStrategy{
			Type: clusterv1.RollingUpdateMachineDeploymentStrategyType,
			RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{
				MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			},
		}},
		Template: clusterv1.MachineTemplateSpec{ObjectMeta: clusterv1.ObjectMeta{Labels: labels}, Spec: clusterv1.MachineSpec{
			ClusterName: meta.Name, InfrastructureRef: reference("ContainerMachineTemplate"),
			Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")},
		}},
	}}
	for _, object := range []client.Object{cluster, &infrav1.ContainerMachineTemplate{ObjectMeta: meta}, deployment} {
		must.Succeed(t, s.live.Create(t.Context(), object))
	}
	return deployment
}

// readBack writes an object in all ways, and reads it in the three ways that a cache
// has.
func (s stale) readBack(t *testing.T) {
	t.Helper()
	writer, ctx := s.manager.GetClient(), t.Context()
	object := &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "read", Finalizers: []string{"example.com/one"}}}
	kind := infrav1.GroupVersion.WithKind("ContainerMachine")
	unstructuredCopy, metadata := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	unstructuredCopy.SetGroupVersionKind(kind)
	metadata.SetGroupVersionKind(kind)
	check := func(write string) {
		for _, reader := range []client.Object{&infrav1.ContainerMachine{}, unstructuredCopy.DeepCopy(), metadata.DeepCopy()} {
			// The client reads unstructured objects from the cache too.
			err := writer.Get(ctx, client.ObjectKeyFromObject(object), reader)
			if write == "finalize" {
				if !apierrors.IsNotFound(err) {
					t.Errorf("after %s, %T is read with %v, want not found", write, reader, err)
				}
			} else if diff := cmp.Diff(object.ResourceVersion, reader.GetResourceVersion()); err != nil || diff != "" {
				t.Errorf("after %s, %T is read with %v and the version (-want +got):\n%s", write, reader, err, diff)
			}
		}
	}
	// Informers begin with their first reader.
	for _, reader := range []client.Object{&infrav1.ContainerMachine{}, unstructuredCopy.DeepCopy(), metadata.DeepCopy()} {
		if err := writer.Get(ctx, client.ObjectKeyFromObject(object), reader); !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		write string
		do    func() error
	}{
		{"create", func() error { return writer.Create(ctx, object) }},
		{"update", func() error { object.Labels = map[string]string{"a": "b"}; return writer.Update(ctx, object) }},
		{"patch", func() error {
			before := client.MergeFrom(object.DeepCopy())
			object.Labels["a"] = "c"
			return writer.Patch(ctx, object, before)
		}},
		{"status", func() error { object.Status.FailureDomain = "a"; return writer.Status().Update(ctx, object) }},
		{"delete", func() error {
			if err := writer.Delete(ctx, object); err != nil {
				return err
			}
			return s.live.Get(ctx, client.ObjectKeyFromObject(object), object)
		}},
		{"finalize", func() error { object.Finalizers = nil; return writer.Update(ctx, object) }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.write, err)
		}
		check(step.write)
	}
}
