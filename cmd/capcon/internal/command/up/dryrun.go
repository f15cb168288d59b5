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
	"context"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

// dryRun prints the plan of a request. Nothing is written, started or pulled.
func (r *run) dryRun(ctx context.Context) error {
	found, err := r.reach(ctx)
	if err != nil {
		return err
	}
	if found.Exists && !found.Answers {
		return r.session.PlaneSilent(ctx, found, r.request.Name)
	}
	if err := r.findPlace(ctx); err != nil {
		return err
	}
	if err := r.checkRequest(ctx); err != nil {
		return err
	}
	plan, err := r.dryPlan(ctx)
	if err != nil {
		return err
	}
	return r.session.Print(r.request.Output, plan, func() error {
		r.session.Printf("%s", plan)
		return nil
	})
}

func (r *run) dryPlan(ctx context.Context) (update.Plan, error) {
	if r.session.Client != nil { // otherwise there is no management plane
		present, err := r.session.Read(ctx, r.request.Name)
		switch {
		case err != nil:
			return update.Plan{}, err
		case present.Deleting:
			return update.Plan{}, r.session.BeingDeleted(r.request.Name)
		case present.Exists:
			chosen, err := r.choose(ctx, present)
			if err == nil {
				err = r.warnOfAbsent(ctx, chosen.NodeImage, chosen.LoadBalancerImage)
			}
			if err != nil {
				return update.Plan{}, err
			}
			return r.plan(ctx, chosen, present)
		}
	}
	values, err := r.desired(ctx)
	if err == nil {
		err = r.chooseImages(ctx, &values)
	}
	if err == nil {
		err = r.warnOfAbsent(ctx, values.NodeImage, values.LoadBalancerImage)
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

// warnOfAbsent warns of the images that the engine lacks: the plan may fail because of them, and what it
// pulls is not known before. Either may be empty.
func (r *run) warnOfAbsent(ctx context.Context, node, loadBalancer string) error {
	if r.session.InMemory {
		return nil
	}
	from, err := r.sources(ctx)
	if err != nil {
		return err
	}
	for use, image := range map[images.Use]string{images.Node: node, images.LoadBalancer: loadBalancer} {
		if image == "" {
			continue
		}
		absent, err := images.Absent(ctx, from, use, image)
		if err != nil {
			return err
		}
		if absent != "" {
			r.session.Warnf("%s", absent)
		}
	}
	return nil
}
