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

package serviceloadbalancer

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

// repair what happened to containers, and remove those whose Service is gone, first and
// after each value of wake. It tries again until it succeeds.
func (b *balancers) repair(ctx context.Context, wake <-chan struct{}) {
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-retry.C:
		}
		if err := errors.Join(b.removeOrphaned(ctx), b.reapply(ctx)); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to repair load balancers of Services; retrying")
			retry.Reset(retryInterval)
		}
	}
}

// reapply what each Service was last given.
func (b *balancers) reapply(ctx context.Context) error {
	b.mutex.Lock()
	uids := make([]types.UID, 0, len(b.wanted))
	for uid := range b.wanted {
		uids = append(uids, uid)
	}
	b.mutex.Unlock()
	var errs []error
	for _, uid := range uids {
		errs = append(errs, b.reapplyOne(ctx, uid))
	}
	return errors.Join(errs...)
}

func (b *balancers) reapplyOne(ctx context.Context, uid types.UID) error {
	ctx, end, err := b.begin(ctx, uid)
	if err != nil {
		return err
	}
	defer end()
	last, isWanted := b.recall(uid)
	if !isWanted {
		return nil
	}
	if err := b.update(ctx, last.service); err != nil {
		return fmt.Errorf("load balancer of Service %s/%s: %w", last.service.Namespace, last.service.Name, err)
	}
	return nil
}

// removeOrphaned removes the containers of Services that do not exist, such as those that
// lost their finalizer while no manager ran.
func (b *balancers) removeOrphaned(ctx context.Context) error {
	containers, err := listContainers(ctx, b.Engine, b.Owner)
	if err != nil {
		return err
	}
	// After the containers: each was created for a Service that was in the cache.
	services, err := b.services.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	exists := map[string]bool{}
	for _, service := range services {
		exists[string(service.UID)] = true
	}
	var errs []error
	for uid, container := range containers {
		if exists[uid] {
			continue
		}
		gone := serviceOf(container)
		errs = append(errs, b.EnsureLoadBalancerDeleted(ctx, "", &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: gone.Namespace, Name: gone.Name, UID: types.UID(uid)},
		}))
	}
	return errors.Join(errs...)
}
