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

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// mute is Docker's socket, which answers the paths that end so and accepts all
// other requests without ever answering them.
func mute(t *testing.T, answers map[string]string) (socket string) {
	t.Helper()
	// Not t.TempDir, whose path may be longer than that of a socket can be.
	directory, err := os.MkdirTemp("", "capcon") //nolint:usetesting // see above
	must.Succeed(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	socket = filepath.Join(directory, "docker.sock")
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "unix", socket))(t)
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for path, body := range answers {
				if strings.HasSuffix(r.URL.Path, path) {
					w.Header().Set("Api-Version", "1.47")
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(body))
					return
				}
			}
			<-r.Context().Done()
		}),
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return socket
}

// hungDeps bound the connection to the engine, and each call of it.
func hungDeps(getenv func(string) string, connects, limit time.Duration) session.Deps {
	return session.Deps{
		Program: "capcon",
		ConnectTo: func(ctx context.Context, name string) (engine.Engine, error) {
			return bounded(ctx, connect.Options{Engine: name, Getenv: getenv, Timeout: connects}, metered.Options{ReadLimit: limit, ChangeLimit: limit})
		},
		NewPlane:     func(e engine.Engine, options plane.Options) session.Plane { return plane.New(e, options) },
		NewClient:    func([]byte) (client.WithWatch, error) { return nil, errors.New("nothing answers") },
		Getenv:       getenv,
		LookPath:     func(string) (string, error) { return "", exec.ErrNotFound },
		Systemd:      systemd,
		HostNetworks: func() []input.UsedRange { return nil },
		Size:         size,
		Clock:        session.Clock{Now: time.Now, After: time.After},
	}
}

func TestCommandsEndThoughTheEngineHangs(t *testing.T) {
	t.Parallel()
	const (
		// limit of a call.
		limit = time.Second
		// patience is what ends the test where a command would hang.
		patience = 2 * time.Minute
	)
	engines := map[string]struct {
		reason  string
		answers map[string]string
		// connects is the limit of the connection, which a busy host may need a while for.
		connects time.Duration
		// words that the error must have in addition to the socket.
		words []string
	}{
		"Never": {"It is not even known what it is.", nil, limit, []string{"no response within", "check that it is running"}},
		"NoMore": {"It hangs on a container, or on its store.", map[string]string{
			"/_ping": "OK", "/version": `{"Version":"28.5.2","ApiVersion":"1.47"}`, "/info": `{"ID":"hung","Name":"host"}`, "/networks/none": `{"Name":"none","Id":"1"}`,
		}, patience, []string{"did not respond", limit.String(), "Restart it", "docker 28.5.2 at"}},
	}
	commands := [][]string{
		{"doctor"}, {"list"}, {"list", "demo"}, {"logs", "demo"}, {"gc"}, {"gc", "--yes"}, {"status"}, {"status", "demo"},
		{"up", "demo"}, {"down", "demo"}, {"down", "--all"}, {"kubeconfig", "demo"}, {"kubeconfig", "--management"},
		{"forget", "demo"}, {"images", "list"}, {"plane", "up"}, {"plane", "down"},
	}
	for name, tc := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// All at the same time: they wait, and the number of parallel tests is that of processors.
			var running sync.WaitGroup
			for _, line := range commands {
				socket, home := mute(t, tc.answers), t.TempDir()
				environment := map[string]string{"DOCKER_HOST": "unix://" + socket, "XDG_STATE_HOME": home, "KUBECONFIG": filepath.Join(home, "kubeconfig")}
				getenv := func(key string) string { return environment[key] }
				err := state.For(filepath.Join(home, "capcon"), "docker", "hung").Save("demo", state.Cluster{OwnerID: "x"})
				must.Succeed(t, err)
				running.Go(func() {
					var out, errs strings.Builder
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					code := command.Run(ctx, line, session.Streams{Out: &out, Err: &errs}, hungDeps(getenv, tc.connects, limit))
					if code != 1 {
						t.Errorf("%s: %s Want an error, got %d:\n%s%s", line, tc.reason, code, &out, &errs)
					}
					for _, word := range append(slices.Clone(tc.words), socket) {
						if !strings.Contains(out.String()+errs.String(), word) {
							t.Errorf("%s: %s Want %q in:\n%s%s", line, tc.reason, word, &out, &errs)
						}
					}
				})
			}
			running.Wait()
		})
	}
}
