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

package network_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

// integrationImage is a small one that every developer has built.
const integrationImage = "localhost/capcon/haproxy:2.6"

func TestIntegrationPlaceConcurrently(t *testing.T) {
	t.Parallel()
	eng := integration.Engine(t, integrationImage)
	owner := identity.Owner{Namespace: "test", Cluster: "place", ID: identity.NewOwnerID()}
	name := "capcon-test-" + owner.ID
	// Two processes that come to an engine without the network.
	found := make([]engine.Network, 2)
	errs := make([]error, 2)
	done := make(chan struct{})
	for i := range found {
		go func() {
			found[i], errs[i] = network.Ensure(t.Context(), eng, network.Request{Name: name})
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	t.Cleanup(func() {
		ctx := cleanupContext(t)
		containers, err := eng.ListContainers(ctx, owner.Labels())
		if err != nil {
			t.Error(err)
		}
		for _, container := range containers {
			if err := eng.RemoveContainer(ctx, container.Name); err != nil {
				t.Error(err)
			}
		}
		if gone, err := network.Remove(ctx, eng, name); err != nil || !gone {
			t.Errorf("Remove = %t, %v", gone, err)
		}
	})
	if err := errors.Join(errs...); err != nil || found[0].ID != found[1].ID {
		t.Fatalf("two processes ensured networks %q and %q, %v", found[0].ID, found[1].ID, err)
	}
	placeConcurrently(t, eng, 2, 6, func(machine string) network.Placement {
		return network.Placement{
			Network: name,
			Spec: engine.Spec{
				Name: machine + "-" + owner.ID, Image: integrationImage, Entrypoint: []string{"sleep", "600"},
				Labels: owner.ContainerLabels(identity.RoleWorker, machine),
			},
		}
	})
	if gone, err := network.Remove(t.Context(), eng, name); err != nil || gone {
		t.Errorf("Remove of a network in use = %t, %v", gone, err)
	}
}

// cleanupContext outlives the test's own context.
func cleanupContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
