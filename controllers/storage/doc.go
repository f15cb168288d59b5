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
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

const (
	// Provisioner is the value of field provisioner in StorageClasses.
	Provisioner = "container.infrastructure.cluster.x-k8s.io"
	// ClassName is the name of the StorageClass that Run creates; kind's has the same.
	ClassName = "standard"

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
)

// Run creates the StorageClass and provisions volumes in one workload cluster until ctx
// ends. It returns once its workers have ended.
func Run(ctx context.Context, config *rest.Config, engine Engine, owner identity.Owner) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client of the workload cluster: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
		err := ensureClass(ctx, client)
		if err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to create StorageClass; retrying")
		}
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	provisioning := controller.NewProvisionController(ctx, client, Provisioner, &provisioner{client: client, engine: engine, owner: owner},
		// The manager has its own leader election.
		controller.LeaderElection(false),
		controller.Threadiness(workers),
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
