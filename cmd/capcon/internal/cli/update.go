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

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

var (
	// errNoConsent says that nothing was written because the user has not agreed.
	errNoConsent = errors.New("nothing was changed: the plan deletes Machines or loses PersistentVolumes, or may lose some")
	// errChanged says that a plan is outdated.
	errChanged = errors.New("the cluster has changed meanwhile, and nothing was written; run the command again")
)

// update an existing cluster by a plan, and write nothing else. Without a difference nothing
// is written at all.
func (s *session) update(ctx context.Context, b *board, request input.Request, present management.Present) error {
	chosen, err := s.choose(ctx, request, present)
	if err != nil {
		return err
	}
	plan, err := s.plan(ctx, request, chosen, present)
	if err != nil || plan.IsEmpty() {
		return err
	}
	if err := s.fetchImages(ctx, b, request, present, chosen); err != nil {
		return err
	}
	b.interrupt(func() {
		s.say("%s", plan)
		err = s.consent(ctx, request, plan)
	})
	if err != nil {
		return err
	}
	return s.execute(ctx, request, chosen, plan)
}

// execute a plan that the user agrees to. If the Cluster changed meanwhile it is computed
// again, and executed where it does the same, or ends nothing.
func (s *session) execute(ctx context.Context, request input.Request, chosen update.Chosen, plan update.Plan) error {
	const attempts = 5 // the status of a Cluster that is busy changes often
	for range attempts {
		present, err := s.readExisting(ctx, request.Name)
		if err != nil {
			return err
		}
		fresh, err := s.plan(ctx, request, chosen, present)
		if err != nil {
			return err
		}
		if !fresh.Same(plan) && fresh.NeedsConsent {
			return errChanged
		}
		if fresh.IsEmpty() {
			return nil
		}
		err = s.persist(ctx, func() error { return management.Update(ctx, s.client, namespace, fresh) })
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return errChanged
}

// readExisting reads a cluster that is to be updated.
func (s *session) readExisting(ctx context.Context, name string) (management.Present, error) {
	present, err := s.read(ctx, name)
	switch {
	case err != nil:
		return present, err
	case !present.Exists:
		return present, fmt.Errorf("cluster %q was deleted meanwhile", name)
	case present.Deleting:
		return present, s.beingDeleted(name)
	}
	return present, nil
}

func (s *session) beingDeleted(name string) error {
	return fmt.Errorf("cluster %q is being deleted; wait for it with \"%s down %s\"", name, s.Program, name)
}

// choose what the request means on this engine. Nothing is pulled.
func (s *session) choose(ctx context.Context, request input.Request, present management.Present) (chosen update.Chosen, err error) {
	if version, needed := present.NeedsNodeImage(request); needed {
		if chosen.NodeImage, err = s.nodeImage(ctx, request, version); err != nil {
			return chosen, err
		}
	}
	if request.LoadBalancerImage != "" || request.Registry != "" {
		if chosen.LoadBalancerImage, err = s.loadBalancerImage(ctx, request); err != nil {
			return chosen, err
		}
	}
	switch request.CNI {
	case "", input.CNIAuto, input.CNINone:
	default:
		chosen.PodNetwork, err = podNetwork(request.CNI, images.NodeImage{}, present.Cluster.Spec.ClusterNetwork.Pods.String())
	}
	return chosen, err
}

// plan of a request, with the volumes that are lost.
func (s *session) plan(
	ctx context.Context, request input.Request, chosen update.Chosen, present management.Present,
) (update.Plan, error) {
	plan, err := update.Compute(present.Present, request, chosen)
	if err != nil || !plan.EndsMachines() {
		return plan, err
	}
	return s.withVolumes(ctx, plan)
}

// withVolumes adds to a plan the volumes that are lost by it.
func (s *session) withVolumes(ctx context.Context, plan update.Plan) (update.Plan, error) {
	volumes, nodes, err := s.volumes(ctx, plan.Cluster)
	if err != nil {
		return plan.WithUnknownVolumes("the cluster's API server cannot be asked: " + management.OneLine(err.Error())), ctx.Err()
	}
	return plan.WithVolumes(volumes, nodes), nil
}

// volumes and nodes of a workload cluster.
func (s *session) volumes(ctx context.Context, name string) ([]corev1.PersistentVolume, []corev1.Node, error) {
	kubeconfig, err := management.Kubeconfig(ctx, s.client, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.Client(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	volumes, nodes := &corev1.PersistentVolumeList{}, &corev1.NodeList{}
	if err := errors.Join(c.List(ctx, volumes), c.List(ctx, nodes)); err != nil {
		return nil, nil, fmt.Errorf("list PersistentVolumes and Nodes: %w", err)
	}
	return volumes.Items, nodes.Items, nil
}

// fetchImages that the plan needs, and check that they are what they have to be.
func (s *session) fetchImages(ctx context.Context, b *board, request input.Request, present management.Present, chosen update.Chosen) error {
	if image := chosen.LoadBalancerImage; image != "" {
		if err := s.ensureImage(ctx, b, images.LoadBalancer, image); err != nil {
			return err
		}
	}
	image := chosen.NodeImage
	if image == "" {
		return nil
	}
	if err := s.ensureImage(ctx, b, images.Node, image); err != nil {
		return err
	}
	read, err := s.readNodeImage(ctx, image)
	if err != nil {
		return err
	}
	version, _ := present.NeedsNodeImage(request)
	return checkNodeImage(image, read, version)
}

// consent asks the user where something is deleted or lost.
func (s *session) consent(ctx context.Context, request input.Request, plan update.Plan) error {
	switch {
	case !plan.NeedsConsent, request.Yes:
		return nil
	case !s.Interactive():
		return fmt.Errorf("%w; to agree, run the command again with --yes", errNoConsent)
	}
	_, _ = fmt.Fprint(s.Out, "Continue? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		// What ends the input is no consent. The process ends before the read if it is
		// interrupted.
		line, _ := bufio.NewReader(s.In).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
	}
	return errNoConsent
}

// dryRun prints the plan of a request. Nothing is written, started or pulled.
func (s *session) dryRun(ctx context.Context, request input.Request) error {
	if err := s.checkRequest(request); err != nil {
		return err
	}
	found, err := s.reachPlane(ctx)
	if err != nil {
		return err
	}
	if found.Exists && !found.Answers {
		return s.planeSilent(ctx, found, request.Name)
	}
	plan, err := s.dryPlan(ctx, request)
	if err != nil {
		return err
	}
	return s.printOutput(request.Output, plan, func() error {
		s.say("%s", plan)
		return nil
	})
}

func (s *session) dryPlan(ctx context.Context, request input.Request) (update.Plan, error) {
	if s.client != nil { // otherwise there is no management plane
		present, err := s.read(ctx, request.Name)
		switch {
		case err != nil:
			return update.Plan{}, err
		case present.Deleting:
			return update.Plan{}, s.beingDeleted(request.Name)
		case present.Exists:
			chosen, err := s.choose(ctx, request, present)
			if err != nil {
				return update.Plan{}, err
			}
			return s.plan(ctx, request, chosen, present)
		}
	}
	values := requested(request)
	err := s.decideRanges(ctx, nil, request, &values)
	if err == nil {
		values.NodeImage, err = s.nodeImage(ctx, request, values.KubernetesVersion)
	}
	if err == nil {
		values.LoadBalancerImage, err = s.loadBalancerImage(ctx, request)
	}
	if err != nil {
		return update.Plan{}, err
	}
	rendered, err := objects.Render(values)
	if err != nil {
		return update.Plan{}, err
	}
	return update.Creation(rendered.Cluster), nil
}
