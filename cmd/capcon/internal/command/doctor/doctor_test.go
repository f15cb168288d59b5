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

package doctor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// probed is what a probe prints on a host with few instances of inotify.
const probed = "== /proc/sys/fs/inotify/max_user_instances\n%d\n== ipv6\n1\n"

func TestDoctor(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*testing.T, *commandtest.World)
		args   []string
		code   int
		want   []string
	}{
		"Well": {
			reason: "Engine, host and images are printed, also where nothing is missing.",
			want: []string{
				"simulated 1.0.0", "kernel 6.1.0", "8 CPUs", "cgroup v2", "1 node in total", "node v1.36.3", "present, ", "All checks passed.",
			},
		},
		"Warning": {
			reason: "A warning does not fail.",
			args:   []string{"--nodes", "12"},
			want:   []string{"InotifyInstances  warning  fs.inotify.max_user_instances is 500, 12 nodes need about 384", "-> on the engine's host: sudo sysctl -w", "All requirements are met, with 1 warning."},
		},
		"NodesThereAre": {
			reason: "Without a number those count that the engine has.",
			change: func(t *testing.T, w *commandtest.World) {
				for i := range 12 {
					w.AddContainer(fmt.Sprint("n", i), "b", "c", identity.RoleWorker)
				}
			},
			want: []string{"12 nodes in total", "12 nodes need"},
		},
		"Error": {
			reason: "The exit code is 1 where something keeps clusters from working.",
			args:   []string{"--nodes", "40"}, code: 1,
			want: []string{"InotifyInstances  error", "1 check failed; 1 warning."},
		},
		"NoPrivileged": {
			reason: "An engine that refuses the container is a finding.",
			change: func(_ *testing.T, w *commandtest.World) {
				w.Engine.FailNext("StartContainer", errors.New("unable to apply caps"))
			},
			code: 1, want: []string{"PrivilegedContainer  error", "unable to apply caps"},
		},
		"NoImages": {
			reason: "Without an image there is nothing to look with.",
			change: func(_ *testing.T, w *commandtest.World) {
				w.Engine.RemoveImage("localhost/capcon/haproxy:2.6")
				w.Engine.RemoveImage("localhost/capcon/node:v1.36.3")
			},
			want: []string{"HostUnknown  warning", "missing; pulled on demand", loadbalancer.DefaultImage, "not in a registry: make images-load"},
		},
		"NetworkTaken": {
			reason: "A network that clusters could not use is reported.",
			change: func(t *testing.T, w *commandtest.World) {
				// Too small for static addresses.
				w.Engine = simulated.New(simulated.WithSubnets())
				w.Engine.AddImage(engine.Image{Tags: []string{"localhost/capcon/haproxy:2.6"}}, nil)
				w.Engine.HandleExec(answer(500))
				spec := engine.NetworkSpec{Name: "capcon", Subnets: []netip.Prefix{netip.MustParsePrefix("10.9.8.0/31")}}
				if _, err := w.Engine.CreateNetwork(t.Context(), spec); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"Network  warning", "too small", "--network"},
		},
		"NoEngine": {
			reason: "An engine that does not answer is a finding with its remedy.",
			change: func(_ *testing.T, w *commandtest.World) { w.Engine.Down() },
			code:   1, want: []string{"unavailable", "EngineReachable  error", "start the container engine"},
		},
		"NoEngineAtAll": {
			reason: "So is one that cannot be found.",
			change: func(_ *testing.T, w *commandtest.World) {
				w.ConnectError = fmt.Errorf("dial: permission denied: %w", engine.ErrUnauthorized)
			},
			code: 1, want: []string{"EnginePermission  error", "group docker"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.New(t)
			w.Engine.HandleExec(answer(500))
			if tc.change != nil {
				tc.change(t, w)
			}
			code, out, errs := w.Run(append([]string{"doctor"}, tc.args...)...)
			if code != tc.code {
				t.Errorf("%s\nWant %d, got %d: %s", tc.reason, tc.code, code, errs)
			}
			commandtest.Contains(t, out, tc.want...)
			w.Engine.Up()
			if containers, err := w.Engine.ListContainers(t.Context(), map[string]string{identity.LabelRole: string(identity.RoleProbe)}); err != nil || len(containers) > 0 {
				t.Errorf("The probe stays: %v, %v", containers, err)
			}
			if _, err := w.Engine.InspectNetwork(t.Context(), "capcon"); name != "NetworkTaken" && !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("The network stays that was made for the probe: %v", err)
			}
		})
	}
}

func TestDoctorJSON(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Engine.HandleExec(answer(8))
	out := w.MustFail("doctor", "-o", "json")
	var result struct {
		OK, Probed    bool
		Nodes         int
		Engine        session.EngineReport
		Images, Items []any
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("Want JSON, got %v:\n%s", err, out)
	}
	if result.OK || !result.Probed || result.Nodes != 1 || result.Engine.Name != "simulated" || len(result.Images) != 3 || len(result.Items) != 1 {
		t.Errorf("Got %+v", result)
	}
	commandtest.Contains(t, w.MustFail("doctor", "-o", "yaml", "--nodes", "-1"), "--output", "--nodes")
}

func answer(instances int) func(string, engine.Command) (engine.Output, error) {
	return func(string, engine.Command) (engine.Output, error) {
		return engine.Output{Stdout: fmt.Appendf(nil, probed, instances)}, nil
	}
}
