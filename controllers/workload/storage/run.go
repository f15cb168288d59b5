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

// Package storage provisions node-local PersistentVolumes in workload clusters: each is a
// directory in the container of the node that the scheduler chose for the claim's first Pod.
//
// The provisioner runs in the manager and acts through the engine, as a cloud's does: nodes
// need no image for it, and a cluster without claims costs three watches. ADR 0011 has the
// alternatives.
package storage

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/volumebinding"
)

const (
	// Provisioner is the value of field provisioner in StorageClasses.
	Provisioner = "container.infrastructure.cluster.x-k8s.io"
	// ClassName is the name of the StorageClass that Run creates; kind's has the same.
	ClassName = "standard"
	// otherClassName is its name where ClassName is that of another provisioner.
	otherClassName = "node-local"
	// otherSharedClassName is the same for volumes that all nodes can have.
	otherSharedClassName = "cluster-volume"

	defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"
)

const (
	// operationTimeout bounds the provisioning or the deletion of one volume: two commands
	// in a container, which take tenths of a second, or seconds on a busy host.
	operationTimeout = time.Minute
	// retryInterval is the time between two attempts to create the StorageClass.
	retryInterval = 5 * time.Second
	// workers is how many volumes of a cluster are provisioned at the same time.
	workers = 4
	// resyncInterval is the longest time until a claim that could not be satisfied is looked
	// at again, such as after a volume was deleted. It costs no request.
	resyncInterval = 30 * time.Second
	// A failed operation is repeated after minRetryDelay, which doubles up to maxRetryDelay:
	// a claim does not wait long once a stopped node or an engine has started again.
	minRetryDelay, maxRetryDelay = time.Second, 30 * time.Second
	// All operations of a cluster share a rate of retries, per second and in a burst; the
	// library's default.
	retryRate, retryBurst = 10, 100
)

// Options of the provisioner of a cluster.
type Options struct {
	// Engine that runs the nodes.
	Engine Engine
	// Recorded are the owner of their containers, and the engine that they were created on: what
	// another one does not have may exist.
	Recorded containercluster.EngineRecord
	// Shared says that volumes are directories of the volume of the cluster, which any node can
	// have. Changed receives if containers of nodes may have changed, and Retain records the
	// volumes whose data is kept when the cluster is deleted.
	Shared  bool
	Changed <-chan struct{}
	Retain  func(ctx context.Context, change func(names []string) []string) error
	// MaxVolumes of the cluster; math.MaxInt32 = unlimited.
	MaxVolumes int32
	// Report is called with the error that keeps storage from starting, and with nil once it
	// runs. notice informs of what the user may not expect.
	Report func(notice string, err error)
}

// Run creates the StorageClass and provisions volumes in one workload cluster until ctx
// ends. It returns once its workers have ended. config is that of a client without timeout.
func Run(ctx context.Context, config *rest.Config, options Options) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client of the workload cluster: %w", err)
	}
	return run(ctx, client, options)
}

func run(ctx context.Context, client kubernetes.Interface, options Options) error {
	otherName := otherClassName
	if options.Shared {
		otherName = otherSharedClassName
	}
	err := wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
		notice, err := ensureClass(ctx, client, otherName)
		if ctx.Err() == nil {
			options.Report(notice, err)
		}
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	if options.Shared {
		var binding sync.WaitGroup
		defer binding.Wait()
		binding.Go(func() { bind(ctx, client, options) })
	}
	threads := workers
	if options.MaxVolumes < math.MaxInt32 {
		threads = 1
	}
	provisioning := controller.NewProvisionController(ctx, client, Provisioner,
		&provisioner{Options: options, client: client, clock: clock.RealClock{}},
		// The manager has its own leader election.
		controller.LeaderElection(false),
		controller.Threadiness(threads),
		controller.ResyncPeriod(resyncInterval),
		controller.RateLimiter(newRateLimiter()),
		controller.ProvisionTimeout(operationTimeout),
		controller.DeletionTimeout(operationTimeout),
		// Retry until the claim or the volume is deleted: a stopped node may start again.
		controller.FailedProvisionThreshold(0),
		controller.FailedDeleteThreshold(0),
	)
	var running sync.WaitGroup
	provisioning.ControllerWaitGroup(&running)
	provisioning.Run(ctx)
	running.Wait()
	return nil
}

// bind volumes into nodes until ctx ends.
func bind(ctx context.Context, client kubernetes.Interface, options Options) {
	_ = wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
		err := volumebinding.Run(ctx, client, volumebinding.Options{
			Engine: options.Engine, Recorded: options.Recorded, Changed: options.Changed, Retain: options.Retain,
		})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to bind volumes; retrying")
		}
		return false, nil
	})
}

func newRateLimiter() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay, maxRetryDelay),
		&workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(retryRate, retryBurst)},
	)
}

// SealScheme keeps the library of the provisioner from writing to client-go's scheme. A program
// that calls Run calls it first, before it starts a goroutine.
//
// NewProvisionController adds the types of core/v1 to that scheme, which has them: each time that
// the storage of a cluster starts, it writes to maps that all clients of the process read without
// a lock, and Go ends a process that reads a map while it is written. The library has no option
// for another scheme.
func SealScheme() {
	add := corev1.AddToScheme
	corev1.AddToScheme = func(s *runtime.Scheme) error {
		if s == scheme.Scheme {
			return nil
		}
		return add(s)
	}
}
