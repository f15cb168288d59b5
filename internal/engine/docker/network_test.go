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

package docker_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationInterruptedNetworkLeavesNothing ends the caller's context at
// many points of creating a network.
func TestIntegrationInterruptedNetworkLeavesNothing(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	eng := harness(t, client.DefaultDockerHost).Connect(t)
	name := "enginetest-interrupted-" + strings.ToLower(rand.Text()[:8])
	t.Cleanup(func() { _ = eng.RemoveNetwork(context.WithoutCancel(t.Context()), name) })
	for after := time.Millisecond; after < 300*time.Millisecond; after = after * 3 / 2 {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, _ = eng.CreateNetwork(ctx, engine.NetworkSpec{Name: name})
		cancel()
		if err := eng.RemoveNetwork(t.Context(), name); err != nil {
			t.Fatalf("interrupted after %s: %v", after, err)
		}
	}
	wantNothingLeft(t, name)
}

func wantNothingLeft(t *testing.T, name string) {
	t.Helper()
	raw := must.Get(client.New(client.FromEnv))(t)
	t.Cleanup(func() { _ = raw.Close() })
	volumes := must.Get(raw.VolumeList(t.Context(), client.VolumeListOptions{Filters: client.Filters{}.Add("name", name)}))(t)
	for _, left := range volumes.Items {
		t.Errorf("volume %s is left", left.Name)
	}
	networks := must.Get(raw.NetworkList(t.Context(), client.NetworkListOptions{Filters: client.Filters{}.Add("name", name)}))(t)
	for _, left := range networks.Items {
		t.Errorf("network %s is left", left.Name)
	}
}

// TestIntegrationClaimLeftBehind creates a network whose name someone claimed
// who was killed, and left a temporary network too.
func TestIntegrationClaimLeftBehind(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	eng := harness(t, client.DefaultDockerHost).Connect(t)
	name := "enginetest-claimed-" + strings.ToLower(rand.Text()[:8])
	labels := map[string]string{"container.infrastructure.cluster.x-k8s.io/creating-network": name}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		must.Succeed(t, errors.Join(
			eng.RemoveNetwork(ctx, name), eng.RemoveNetwork(ctx, name+"-subnet-0"),
			eng.RemoveVolume(ctx, name+"-claim-0"), eng.RemoveVolume(ctx, name+"-claim-zzz")))
	})
	// Names before and after every token that a claim can have.
	for _, token := range []string{"0", "zzz"} {
		must.Succeed(t, eng.CreateVolume(t.Context(), name+"-claim-"+token, labels))
	}
	must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: name + "-subnet-0", Labels: labels}))(t)
	start := time.Now()
	_, err := eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: name})
	t.Logf("created after %s", time.Since(start))
	must.Succeed(t, err)
	if err := eng.RemoveNetwork(t.Context(), name); err != nil {
		t.Error(err)
	}
	wantNothingLeft(t, name)
}
