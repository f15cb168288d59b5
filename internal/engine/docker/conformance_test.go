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
	"os"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationConformance runs on the engine of DOCKER_HOST, by default
// that of /var/run/docker.sock, which may have other users: it removes all it
// makes but the test image.
func TestIntegrationConformance(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	enginetest.Conformance(t, harness(t, client.DefaultDockerHost))
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no container engine")
	}
}

// harness reaches the engine of the default endpoint or DOCKER_HOST through a
// proxy, whose connections can be broken.
func harness(t *testing.T, endpoint string) enginetest.Harness {
	t.Helper()
	if fromEnvironment := os.Getenv(client.EnvOverrideHost); fromEnvironment != "" && endpoint == client.DefaultDockerHost {
		endpoint = fromEnvironment
	}
	raw := must.Get(client.New(client.WithHost(endpoint)))(t)
	t.Cleanup(func() { _ = raw.Close() })
	if _, err := raw.Ping(t.Context(), client.PingOptions{}); err != nil {
		t.Fatalf("no Docker engine answers at %s (%v); start one with lab/engine/docker.sh, or leave such tests out with -short", endpoint, err)
	}
	out := enginetest.LocalHarness(t, endpoint, func(uri string) (engine.Engine, error) { return docker.New("", client.WithHost(uri)) })
	out.VolumesOf = func(t *testing.T, container string) []string {
		t.Helper()
		found := must.Get(raw.ContainerInspect(t.Context(), container, client.ContainerInspectOptions{}))(t)
		var out []string
		for _, mount := range found.Container.Mounts {
			if mount.Name != "" {
				out = append(out, mount.Name)
			}
		}
		return out
	}
	out.RemoveImage = func(t *testing.T, reference string) {
		t.Helper()
		_, err := raw.ImageRemove(context.WithoutCancel(t.Context()), reference, client.ImageRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
			t.Errorf("remove image %q: %v", reference, err)
		}
	}
	return out
}
