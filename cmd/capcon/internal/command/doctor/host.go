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

package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// countNodes that the engine has, of any cluster.
func countNodes(ctx context.Context, e engine.ContainerReader) (int, error) {
	count := 0
	for _, role := range []identity.Role{identity.RoleControlPlane, identity.RoleWorker} {
		containers, err := e.ListContainers(ctx, map[string]string{identity.LabelRole: string(role)})
		if err != nil {
			return 0, fmt.Errorf("count nodes: %w", err)
		}
		count += len(containers)
	}
	return count, nil
}

// lookAtHost with a container of an image that is there. What keeps it from
// looking is an item, and no error.
func lookAtHost(ctx context.Context, e engine.Engine, present []images.Report) (*preflight.Host, []preflight.Item, error) {
	probe := preflight.ProbeContainer{
		Name:   "capcon-probe-" + strings.ToLower(rand.Text()[:8]),
		Labels: map[string]string{identity.LabelRole: string(identity.RoleProbe)},
		Image:  probeImage(present),
	}
	if probe.Image == "" {
		return nil, []preflight.Item{{
			Name: "HostUnknown", Severity: preflight.SeverityWarning,
			Message: "the host was not checked, because no image is available to run a probe container",
			Remedy:  "build the images (make images), load them (capcon images load FILE), or create a cluster (capcon up NAME), and try again",
		}}, nil
	}
	var items []preflight.Item
	remove, err := ensureProbeNetwork(ctx, e, &probe)
	var unusable *network.UnusableError
	switch {
	case errors.As(err, &unusable):
		items = append(items, preflight.Item{
			Name: "Network", Severity: preflight.SeverityWarning,
			Message: fmt.Sprintf("network %q, the default of clusters, %s", unusable.Network, unusable.Reason),
			Remedy:  unusable.Remedy + "; or use capcon up --network",
		})
	case err != nil:
		return nil, nil, err
	}
	host, err := preflight.Probe(ctx, e, probe)
	if err = errors.Join(err, remove(ctx)); err != nil {
		return nil, nil, fmt.Errorf("inspect host: %w", err)
	}
	return &host, items, nil
}

// probeImage is the first that has a shell.
func probeImage(present []images.Report) string {
	for _, image := range present {
		if image.Present && image.Use != string(images.Plane) {
			return image.Reference
		}
	}
	return ""
}

// ensureProbeNetwork puts the probe on the clusters' network, and returns what
// removes that again if it was not there: the engine's default one, which no
// cluster needs, may not work. Not usable: the engine's default one, and a
// *network.UnusableError.
func ensureProbeNetwork(ctx context.Context, e engine.Networks, probe *preflight.ProbeContainer) (func(context.Context) error, error) {
	stay := func(context.Context) error { return nil }
	_, err := e.InspectNetwork(ctx, network.DefaultName)
	absent := errors.Is(err, engine.ErrNotFound)
	if err != nil && !absent {
		return stay, fmt.Errorf("inspect network %q: %w", network.DefaultName, err)
	}
	if _, err := network.Ensure(ctx, e, network.Request{Name: network.DefaultName}); err != nil {
		return stay, err
	}
	probe.Network = network.DefaultName
	if !absent {
		return stay, nil
	}
	return func(ctx context.Context) error {
		// Also when the user interrupts. One that is in use meanwhile stays.
		_, err := network.Remove(context.WithoutCancel(ctx), e, network.DefaultName)
		return err
	}, nil
}
