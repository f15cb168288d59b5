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

package logs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const container = "node"

func newEngine(t *testing.T) *simulated.Engine {
	t.Helper()
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{"image:1"}}, nil)
	_, err := e.CreateContainer(t.Context(), engine.Spec{Name: container, Image: "image:1"})
	must.Succeed(t, errors.Join(err, e.StartContainer(t.Context(), container)))
	return e
}

func writeLog(t *testing.T, e *simulated.Engine, text string) {
	t.Helper()
	must.Succeed(t, e.WriteFile(container, record.LogPath, []byte(text)))
}

func TestRead(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*testing.T, *simulated.Engine)
		log    Log
		lines  int
		want   string
	}{
		"Bootstrap": {
			reason: "The last lines, without what is a secret by name, by form or because the data says so.",
			change: func(t *testing.T, e *simulated.Engine) {
				writeLog(t, e, "first\nkubeadm join --token abcdef.0123456789abcdef\npassphrase is correct horse\nend\n")
			},
			log: Log{Source: Bootstrap, Secrets: []string{"correct horse"}}, lines: 3,
			want: "kubeadm join --token [redacted]\npassphrase is [redacted]\nend\n",
		},
		"BootstrapNotStarted": {reason: "What is not there yet is empty.", log: Log{Source: Bootstrap}},
		"BootstrapOfStopped": {
			reason: "A node that does not run still has it.",
			change: func(t *testing.T, e *simulated.Engine) {
				writeLog(t, e, "all\n")
				must.Succeed(t, e.StopContainer(t.Context(), container, 0))
			},
			log: Log{Source: Bootstrap}, want: "all\n",
		},
		"Journal": {
			reason: "The cursor is not part of it.",
			change: func(_ *testing.T, e *simulated.Engine) {
				e.HandleExec(func(_ string, command engine.Command) (engine.Output, error) {
					return engine.Output{Stdout: []byte(strings.Join(command.Args, " ") + "\npassword=x\n-- cursor: s=1\n")}, nil
				})
			},
			log: Log{Source: Journal}, lines: 7,
			want: "sh -c journalctl --no-pager --quiet --show-cursor -o short -u kubelet -u containerd -n 7\npassword=[redacted]\n",
		},
		"JournalOfStopped": {
			reason: "A node that does not run cannot be asked.",
			change: func(t *testing.T, e *simulated.Engine) {
				must.Succeed(t, e.StopContainer(t.Context(), container, 0))
			},
			log: Log{Source: Journal},
		},
		"Console": {
			reason: "What the first process printed.",
			change: func(_ *testing.T, e *simulated.Engine) { e.SetLog(container, "one\ntwo\n") },
			log:    Log{Source: Console}, lines: 1, want: "two\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			if tc.change != nil {
				tc.change(t, e)
			}
			tc.log.Container = container
			got, err := tc.log.Read(t.Context(), e, tc.lines)
			if err != nil || got != tc.want {
				t.Errorf("%s\nGot %q, %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
	e := newEngine(t)
	broken := errors.New("broken")
	e.FailNext("ContainerLog", broken)
	if _, err := (Log{Container: container, Source: Console}).Read(t.Context(), e, 0); !errors.Is(err, broken) {
		t.Errorf("An error is returned, got %v", err)
	}
}

// What is logged while it is followed comes once, in whole lines.
func TestFollow(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		source Source
		lines  int
		want   string
	}{
		"Bootstrap": {"Its end, and then what is new; all of one that was recreated.", Bootstrap, 1, "2\n3\n4\nnew\n"},
		"Journal":   {"What is behind the cursor.", Journal, 1, "-n 1\n--after-cursor='s=1;i=2'\n--after-cursor='s=1;i=2'\n--after-cursor='s=1;i=2'\n"},
		"Console":   {"The engine's own following.", Console, 2, "printed\nhalf"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			e.HandleExec(func(_ string, command engine.Command) (engine.Output, error) {
				_, where, _ := strings.Cut(command.Args[2], "-u containerd ")
				return engine.Output{Stdout: []byte(where + "\n-- cursor: s=1;i=2\n")}, nil
			})
			e.SetLog(container, "printed\nhalf")
			writeLog(t, e, "1\n2\n")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			steps := []string{"1\n2\n3\n4", "1\n2\n3\n4\n", "new\n"}
			after := func(time.Duration) <-chan time.Time {
				if len(steps) == 0 {
					cancel()
					return nil
				}
				writeLog(t, e, steps[0])
				steps = steps[1:]
				passed := make(chan time.Time, 1)
				passed <- time.Time{}
				return passed
			}
			var got strings.Builder
			log := Log{Container: container, Source: tc.source}
			err := log.Follow(ctx, e, tc.lines, after, func(text string) {
				got.WriteString(text)
				if tc.source == Console {
					cancel() // it is followed as long as ctx
				}
			})
			// What a line begins with is flushed at the end.
			if err != nil || got.String() != tc.want {
				t.Errorf("%s\nGot %q, %v, want %q", tc.reason, got.String(), err, tc.want)
			}
		})
	}
}
