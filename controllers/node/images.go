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

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/nodeimages"
)

// copyInterval is how soon a copy is tried again while another one is under way. That takes
// seconds to minutes, and asks nothing of the engine.
const copyInterval = 5 * time.Second

// copyImages copies those images of the cluster that the node does not have. That the
// engine lacks one does not make the machine less ready: only Pods of the image fail.
func (r *Reconciler) copyImages(ctx context.Context, s Scope) error {
	if s.ContainerCluster == nil || len(s.ContainerCluster.Spec.Images) == 0 {
		return nil
	}
	key, state := client.ObjectKeyFromObject(s.ContainerMachine), s.Container.ID+" "+strings.Join(s.ContainerCluster.Spec.Images, " ")
	if known, found := r.images.Load(key); found && known == state {
		return nil
	}
	// One at a time on the engine: each is a temporary file as large as the image.
	if !r.copying.TryLock() {
		return reconcile.Wait{After: copyInterval}
	}
	defer r.copying.Unlock()
	missing, err := nodeimages.Missing(ctx, s.Engine, s.Container.Name, s.ContainerCluster.Spec.Images)
	if err != nil {
		return fmt.Errorf("find missing images of the node: %w", err)
	}
	var outcome error
	for _, reference := range missing {
		err := r.copyImage(ctx, s, reference)
		switch {
		case errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrInvalid):
			r.Events.Eventf(s.ContainerMachine, nil, corev1.EventTypeWarning, "ImageNotCopied", "CopyImage", "Cannot copy image %s of the ContainerCluster into the node: %s", reference, err)
			outcome = reconcile.Wait{After: reconcile.UserInterval}
		case err != nil:
			return err
		}
	}
	if outcome == nil {
		r.images.Store(key, state)
	}
	return outcome
}

func (r *Reconciler) copyImage(ctx context.Context, s Scope, reference string) (err error) {
	source, err := nodeimages.OpenSource(ctx, s.Engine, reference)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if _, err := source.CopyTo(ctx, s.Engine, s.Container.Name); err != nil {
		return fmt.Errorf("copy image %s into the node: %w", reference, err)
	}
	r.Events.Eventf(s.ContainerMachine, nil, corev1.EventTypeNormal, "ImageCopied", "CopyImage", "Copied image %s into the node", reference)
	return nil
}
