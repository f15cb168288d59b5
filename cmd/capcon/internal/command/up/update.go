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

package up

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

var (
	// ErrNoConsent says that nothing was written because the user has not agreed.
	ErrNoConsent = errors.New("nothing was changed: the plan deletes Machines or loses PersistentVolumes, or may lose some")
	// errUnanswered says that the command ended before the user answered.
	errUnanswered = errors.New("nothing was changed: the plan was not agreed to")
	// errChanged says that a plan is outdated.
	errChanged = errors.New("the cluster has changed meanwhile, and nothing was written; run the command again")
)

// update an existing cluster by a plan, and write nothing else. Without a difference nothing
// is written at all.
func (r *run) update(ctx context.Context, present management.Present) error {
	chosen, err := r.choose(ctx, present)
	if err != nil {
		return err
	}
	plan, err := r.plan(ctx, chosen, present)
	if err != nil || plan.IsEmpty() {
		return err
	}
	version, _ := present.NeedsNodeImage(r.request)
	if _, err := r.fetchImages(ctx, chosen.NodeImage, chosen.LoadBalancerImage, version); err != nil {
		return err
	}
	r.board.Interrupt(func() {
		r.session.Printf("%s", plan)
		err = r.consent(ctx, plan)
	})
	if err != nil {
		return err
	}
	return r.execute(ctx, chosen, plan)
}

// execute a plan that the user agrees to. If the Cluster changed meanwhile it is computed
// again, and executed where it does the same, or where neither needs consent.
func (r *run) execute(ctx context.Context, chosen update.Chosen, plan update.Plan) error {
	const attempts = 5 // the status of a Cluster that is busy changes often
	for range attempts {
		present, err := r.readExisting(ctx, r.request.Name)
		if err != nil {
			return err
		}
		fresh, err := r.plan(ctx, chosen, present)
		if err != nil {
			return err
		}
		if !fresh.Same(plan) && (plan.NeedsConsent || fresh.NeedsConsent) {
			return errChanged
		}
		if fresh.IsEmpty() {
			return nil
		}
		err = r.session.RetryTransient(ctx, func() error { return management.Update(ctx, r.session.Client, management.Namespace, fresh) })
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) { // a Machine of the plan may be gone
			return err
		}
	}
	return errChanged
}

// readExisting reads a cluster that is to be updated.
func (r *run) readExisting(ctx context.Context, name string) (management.Present, error) {
	present, err := r.session.Read(ctx, name)
	switch {
	case err != nil:
		return present, err
	case !present.Exists:
		return present, fmt.Errorf("cluster %q was deleted meanwhile", name)
	case present.Deleting:
		return present, r.session.BeingDeleted(name)
	}
	return present, nil
}

// choose what the request means on this engine. Nothing is pulled.
func (r *run) choose(ctx context.Context, present management.Present) (chosen update.Chosen, err error) {
	if version, needed := present.NeedsNodeImage(r.request); needed {
		if chosen.NodeImage, err = r.nodeImage(ctx, version); err != nil {
			return chosen, err
		}
	}
	if r.request.LoadBalancerImage != "" || r.request.Registry != "" {
		if chosen.LoadBalancerImage, err = r.loadBalancerImage(ctx); err != nil {
			return chosen, err
		}
	}
	switch r.request.CNI {
	case "", input.CNIAuto, input.CNINone:
	default:
		chosen.PodNetwork, err = podNetwork(r.request.CNI, images.NodeImage{}, present.Cluster.Spec.ClusterNetwork.Pods.String())
	}
	return chosen, err
}

// plan of a request, with the volumes that are lost.
func (r *run) plan(ctx context.Context, chosen update.Chosen, present management.Present) (update.Plan, error) {
	if present.Class != nil {
		if err := r.admit(ctx, present.Class.Spec.Variables); err != nil {
			return update.Plan{}, err
		}
	}
	plan, err := update.Compute(present.Present, r.request, chosen)
	if err != nil || !plan.EndsMachines() || r.session.InMemory {
		return plan, err
	}
	return r.session.WithVolumes(ctx, plan)
}

// consent asks the user where something is deleted or lost.
func (r *run) consent(ctx context.Context, plan update.Plan) error {
	switch {
	case !plan.NeedsConsent, r.request.Yes:
		return nil
	case !r.session.Interactive():
		return fmt.Errorf("%w; to agree, run the command again with --yes", ErrNoConsent)
	}
	_, _ = fmt.Fprint(r.session.Out, "Continue? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		// What ends the input is no consent. The process ends before the read if it is
		// interrupted.
		line, _ := bufio.NewReader(r.session.In).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errUnanswered, ctx.Err())
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
	}
	return ErrNoConsent
}
