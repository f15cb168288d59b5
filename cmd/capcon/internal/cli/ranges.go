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
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// decideRanges keeps the cluster's address ranges away from the engine's
// subnet: Nodes could not reach each other, or nothing else.
func (s *session) decideRanges(
	ctx context.Context, _ *board, request input.Request, values *objects.Values,
) error {
	subnets, err := s.subnets(ctx, values.Network)
	if err != nil {
		return err
	}
	var problems []input.Problem
	check := func(flag, given string) {
		prefix, err := netip.ParsePrefix(given)
		if err != nil {
			return // not given
		}
		if other := input.Overlapping(prefix, subnets); other.IsValid() {
			problems = append(problems, input.Problem{
				Field: flag, Value: given, Reason: fmt.Sprintf("overlaps subnet %s of network %q", other, values.Network),
				Remedy: "use another range",
			})
		}
	}
	check("--service-cidr", values.ServiceCIDR)
	check("--pod-cidr", request.PodCIDR)
	if reason := input.CheckCapacity(request.PodCIDR, int(values.ControlPlanes+values.Workers)); reason != "" {
		problems = append(problems, input.Problem{
			Field: "--pod-cidr", Value: request.PodCIDR, Reason: reason, Remedy: "use a larger range, such as " + input.DefaultPodCIDR,
		})
	}
	if err := input.Refuse(problems...); err != nil || values.PodCIDR != "" {
		return err
	}
	services, err := netip.ParsePrefix(values.ServiceCIDR)
	if err != nil {
		return fmt.Errorf("parse Service CIDR: %w", err)
	}
	pods := input.AvoidSubnets(append(subnets, services))
	if !pods.IsValid() {
		return errors.New("no free address range for Pods found; use --pod-cidr")
	}
	values.PodCIDR = pods.String()
	return nil
}

// subnets of the engine's network; none where it does not exist yet.
func (s *session) subnets(ctx context.Context, network string) ([]netip.Prefix, error) {
	found, err := s.engine.InspectNetwork(ctx, network)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inspect network %q: %w", network, err)
	}
	var subnets []netip.Prefix
	for _, subnet := range found.Subnets {
		subnets = append(subnets, subnet.Prefix)
	}
	return subnets, nil
}
