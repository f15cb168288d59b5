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

package logs_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestLogs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*testing.T, *commandtest.World)
		args   []string
		code   int
		want   []string
		absent []string
		// silent says that there is nothing to complain about.
		silent bool
	}{
		"All": {
			reason: "Machines first, then the load balancer; the secrets of the bootstrap data are left out.",
			args:   []string{"demo"},
			want: []string{
				"==> demo-a bootstrap <==", "==> demo-a journal <==", "the word is [redacted]", "token=[redacted]",
				"==> load-balancer <==\nServer is UP",
			},
			absent: []string{"swordfish42"},
		},
		"LoadBalancer": {
			reason: "It has a name of its own.",
			args:   []string{"demo", "load-balancer"}, want: []string{"Server is UP"}, absent: []string{"demo-a"},
		},
		"Container": {
			reason: "A container's name is as good as the machine's.",
			args:   []string{"demo", "demo-lb"}, want: []string{"Server is UP"}, absent: []string{"demo-a"},
		},
		"WithoutPlane": {
			reason: "What was made here needs no plane.",
			change: func(_ *testing.T, w *commandtest.World) { w.Plane.Current = plane.State{} },
			args:   []string{"lost"}, want: []string{"==> lost-a journal <=="},
			// Only the plane could have said what is a secret of the data.
		},
		"PlaneHalf": {
			reason: "Where the plane does not return the cluster, the saved owner ID is used, and secrets are still read.",
			change: func(t *testing.T, w *commandtest.World) {
				t.Helper()
				w.ReadErrors = map[string]error{"ContainerCluster": errors.New("etcd: no leader")}
			},
			args: []string{"demo"}, want: []string{"==> demo-a journal <==", "the word is [redacted]", "Server is UP"},
			absent: []string{"swordfish42"}, silent: true,
		},
		"PlaneFails": {
			reason: "What it does not return is reported once, with the reason.",
			change: func(t *testing.T, w *commandtest.World) {
				t.Helper()
				w.ReadErrors = map[string]error{"ContainerCluster": errors.New("etcd: no leader")}
				w.ReadErrors = map[string]error{"MachineList": errors.New("etcd: no leader")}
			},
			args: []string{"demo"}, want: []string{
				"==> demo-a journal <==", "the word is swordfish42", "token=[redacted]", "Server is UP",
				"secrets are redacted by pattern only", "etcd: no leader",
			},
		},
		"DataNotRead": {
			reason: "The secrets of the bootstrap data may be what cannot be read.",
			change: func(t *testing.T, w *commandtest.World) {
				t.Helper()
				w.ReadErrors = map[string]error{"Secret": errors.New("forbidden")}
			},
			args: []string{"demo", "demo-a"}, want: []string{"token=[redacted]", "secrets are redacted by pattern only", "forbidden"},
		},
		"PlaneFailsOfUnknown": {
			reason: "If the cluster is not known, the plane's error is why.",
			change: func(t *testing.T, w *commandtest.World) {
				t.Helper()
				w.ReadErrors = map[string]error{"ContainerCluster": errors.New("etcd: no leader")}
			},
			args: []string{"none"}, code: 1, want: []string{"etcd: no leader"},
		},
		"Stopped": {
			reason: "A machine that does not run has a console.",
			change: func(t *testing.T, w *commandtest.World) {
				w.Engine.SetLog("demo-a", "systemd says\n")
				must.Succeed(t, w.Engine.StopContainer(t.Context(), "demo-a", 0))
			},
			args: []string{"demo", "demo-a"}, want: []string{"==> demo-a console <==\nsystemd says"},
		},
		"NoMachine": {reason: "Those there are are named.", args: []string{"demo", "demo-z"}, code: 1, want: []string{"it has: demo-a, load-balancer"}},
		"NoCluster": {reason: "A hint helps.", args: []string{"none"}, code: 1, want: []string{`cluster "none" not found`, "capcon up none"}},
		"BadTail":   {reason: "What cannot be is refused.", args: []string{"demo", "--tail", "-1"}, code: 1, want: []string{"--tail"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithLogs(t)
			if tc.change != nil {
				tc.change(t, w)
			}
			code, out, errs := w.Run(append([]string{"logs"}, tc.args...)...)
			if code != tc.code {
				t.Errorf("%s\nlogs ended with %d: %s", tc.reason, code, errs)
			}
			commandtest.Contains(t, out+errs, tc.want...)
			if tc.silent && errs != "" || tc.code == 0 && strings.Count(errs, "\n") > 1 {
				t.Errorf("%s\ncomplaints:\n%s", tc.reason, errs)
			}
			for _, word := range tc.absent {
				if strings.Contains(out, word) {
					t.Errorf("%s\n%q is in:\n%s", tc.reason, word, out)
				}
			}
		})
	}
}

func TestLogsCompletion(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLogs(t)
	for args, want := range map[string]string{"": "demo\nlost\n", "demo": "demo-a\nload-balancer\n"} {
		line := []string{"__complete", "logs"}
		if args != "" {
			line = append(line, args)
		}
		if code, out, errs := w.Run(append(line, "")...); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("Want %q behind %q, got %d, %q, %s", want, args, code, out, errs)
		}
	}
}

// TestLogsOnEngine: the logs of a cluster on the engine of another host are read there.
func TestLogsOnEngine(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(w *commandtest.World, build *simulated.Engine)
		code   int
		want   []string
	}{
		"Reached": {reason: "The engine of the plane has no container of it.", want: []string{"==> demo-a journal <==", "kubelet says"}},
		"Unreachable": {
			reason: "Which engine, why, and what to do.",
			change: func(w *commandtest.World, _ *simulated.Engine) { w.BreakEngine("build", "connection refused") },
			code:   1, want: []string{`engine "build": the management plane does not reach it: Unreachable: connection refused`, "capcon engine list -o wide", "capcon engine add build"},
		},
		"Hangs": {
			reason: "capcon reaches it by itself, and not the management plane for it.",
			change: func(_ *commandtest.World, build *simulated.Engine) { build.FailNext("Info", engine.ErrUnavailable) },
			code:   1, want: []string{`engine "build": `, "unavailable", "capcon engine list -o wide"},
		},
		"Replaced": {
			reason: "What another engine lacks says nothing.",
			change: func(_ *commandtest.World, build *simulated.Engine) { build.SwitchStorage("other") },
			code:   1, want: []string{`engine "build": another engine responds (storage other, not build)`},
		},
		"Lost": {
			reason: "Its administrator says so.",
			change: func(w *commandtest.World, _ *simulated.Engine) {
				commandtest.Update(w, "build", &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(true) })
			},
			code: 1, want: []string{`engine "build": spec.lost says that it is gone`},
		},
		"Removed": {
			reason: "It cannot be, but for a restored backup.",
			change: func(w *commandtest.World, _ *simulated.Engine) {
				must.Succeed(w.T, w.Client.Delete(w.T.Context(), &infrav1.ContainerEngine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "build"}}))
			},
			code: 1, want: []string{`engine "build": not found`, "capcon engine add"},
		},
		"NoCredentials": {
			reason: "They are in the management plane alone.",
			change: func(w *commandtest.World, _ *simulated.Engine) {
				must.Succeed(w.T, w.Client.Delete(w.T.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "build-credentials"}}))
			},
			code: 1, want: []string{`engine "build": its credentials are not found: Secret "build-credentials"`},
		},
		"PlaneSilent": {
			reason: "The record knows where the cluster is.",
			change: func(w *commandtest.World, _ *simulated.Engine) {
				w.Plane.Current = plane.State{Exists: true, Detail: "is starting"}
			},
			code: 1, want: []string{`engine "build": its credentials are in the management cluster`, "capcon plane up"},
		},
		"PlaneHalf": {
			reason: "The engine is reached while its objects are read.",
			change: func(w *commandtest.World, _ *simulated.Engine) {
				w.ReadErrors = map[string]error{"ContainerCluster": errors.New("etcd: no leader")}
			},
			want: []string{"==> demo-a journal <=="},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, build := commandtest.WithEngine(t)
			build.HandleExec(func(string, engine.Command) (engine.Output, error) {
				return engine.Output{Stdout: []byte("kubelet says\n")}, nil
			})
			if tc.change != nil {
				tc.change(w, build)
			}
			code, out, errs := w.Run("logs", "demo")
			if code != tc.code {
				t.Errorf("%s\nlogs ended with %d:\n%s%s", tc.reason, code, out, errs)
			}
			commandtest.Contains(t, out+errs, tc.want...)
			if calls := w.Engine.MutatingCalls(); len(calls) > 0 {
				t.Errorf("%s\nThe engine of the plane was changed: %v", tc.reason, calls)
			}
		})
	}
}

// TestLogsOnEngines: each log is read where its machine is, and what is not reached keeps no other from being printed.
func TestLogsOnEngines(t *testing.T) {
	t.Parallel()
	w, build, other := commandtest.Spread(t)
	for _, one := range []*simulated.Engine{build, other} {
		one.HandleExec(func(container string, _ engine.Command) (engine.Output, error) {
			return engine.Output{Stdout: []byte(container + " says\n")}, nil
		})
	}
	commandtest.Contains(t, w.MustRun("logs", "demo"), "==> demo-a journal <==\ndemo-a says", "==> demo-b journal <==\ndemo-b says")
	w.BreakEngine("other", "connection refused")
	code, out, errs := w.Run("logs", "demo")
	if code != 1 {
		t.Errorf("logs ended with %d", code)
	}
	commandtest.Contains(t, out, "demo-a says")
	commandtest.Contains(t, errs, `engine "other": the management plane does not reach it`)
}
