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

package podman_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationConformance runs on the service of CONTAINER_HOST, by default
// that of /run/podman/podman.sock, which may have other users: it removes all it
// makes but the test image. Where neither is there, it starts a service of its own.
func TestIntegrationConformance(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	enginetest.Conformance(t, harness(t, serviceUnderTest(t)))
}

// TestIntegrationRestart restarts a service, so it starts one of its own.
// Containers do not need it: what a boot of the host does is another matter.
func TestIntegrationRestart(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	own := startService(t, ownNetwork)
	tested := harness(t, own.endpoint())
	tested.RunsOn = true
	tested.RestartEngine = own.Restart
	enginetest.RestartConformance(t, tested)
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no container engine")
	}
}

// harness reaches a service through a proxy, whose connections can be broken.
func harness(t *testing.T, endpoint string) enginetest.Harness {
	t.Helper()
	raw := rawClient{socket: strings.TrimPrefix(endpoint, "unix://")}
	if _, err := raw.do(t.Context(), http.MethodGet, "/_ping"); err != nil {
		t.Fatalf("no Podman service answers at %s (%v); start one with systemctl start podman.socket, or leave such tests out with -short", endpoint, err)
	}
	out := enginetest.LocalHarness(t, endpoint, func(uri string) (engine.Engine, error) { return podman.New(podman.Options{URI: uri}) })
	out.CDIDevice, out.VolumesOf = enginetest.LocalCDIDevice, raw.volumesOf
	out.RemoveImage = func(t *testing.T, reference string) {
		t.Helper()
		_, err := raw.do(context.WithoutCancel(t.Context()), http.MethodDelete, "/images/"+url.PathEscape(reference))
		if err != nil {
			t.Errorf("remove image %q: %v", reference, err)
		}
	}
	out.ForgetsStartErrors = strings.HasPrefix(raw.version(t), "4.")
	// Its monitor may end with the process, before it reads the kernel's count.
	out.MissesOOM = true
	return out
}

// rawClient asks the service past the engine under test.
type rawClient struct {
	socket string
}

// do returns the body, whatever its status.
func (c rawClient) do(ctx context.Context, method, path string) ([]byte, error) {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://podman/v4.3.0/libpod"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

func (c rawClient) version(t *testing.T) string {
	t.Helper()
	content := must.Get(c.do(t.Context(), http.MethodGet, "/version"))(t)
	var found struct{ Version string }
	must.Succeed(t, json.Unmarshal(content, &found))
	return found.Version
}

func (c rawClient) volumesOf(t *testing.T, container string) []string {
	t.Helper()
	content := must.Get(c.do(t.Context(), http.MethodGet, "/containers/"+container+"/json"))(t)
	var found struct{ Mounts []struct{ Name string } }
	must.Succeed(t, json.Unmarshal(content, &found))
	var out []string
	for _, mount := range found.Mounts {
		if mount.Name != "" {
			out = append(out, mount.Name)
		}
	}
	return out
}
