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

package metered_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestRate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		options metered.Options
		want    time.Duration
	}{
		"Off":       {"There is no limit unless one is set.", metered.Options{}, 0},
		"OwnBurst":  {"As many as in a second immediately, then one after the other.", metered.Options{CallsPerSecond: 10}, time.Second},
		"Burst":     {"The burst is what is set.", metered.Options{CallsPerSecond: 10, Burst: 15}, 500 * time.Millisecond},
		"Slow":      {"Less than one in a second is one immediately.", metered.Options{CallsPerSecond: 0.5}, 38 * time.Second},
		"OnlyBurst": {"A burst alone limits nothing.", metered.Options{Burst: 1}, 0},
	}
	for name, tc := range cases {
		synctest.Test(t, func(t *testing.T) {
			eng := must.Get(metered.New(simulated.New(), prometheus.NewRegistry(), tc.options))(t)
			start := time.Now()
			for range 20 {
				must.Get(eng.Info(t.Context()))(t)
			}
			if took := time.Since(start).Round(time.Millisecond); took != tc.want {
				t.Errorf("%s: %s\n20 calls took %s, want %s", name, tc.reason, took, tc.want)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	var options metered.Options
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.AddFlags(flags)
	must.Succeed(t, flags.Parse([]string{"--engine-qps=2.5", "--engine-burst=7"}))
	if options.CallsPerSecond != 2.5 || options.Burst != 7 {
		t.Errorf("options %+v, want what the flags say", options)
	}
}

// A caller whose deadline is too short gets an error immediately, and the engine is not called.
func TestRateEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := simulated.New()
		eng := must.Get(metered.New(inner, prometheus.NewRegistry(), metered.Options{CallsPerSecond: 0.1}))(t)
		_, _ = eng.Info(t.Context())
		short, cancelShort := context.WithTimeout(t.Context(), time.Second)
		defer cancelShort()
		if _, err := eng.Info(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that would come too late: %v", err)
		}
		canceled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := eng.Info(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was given up: %v", err)
		}
		if calls := len(inner.Journal()); calls != 1 {
			t.Errorf("%d calls reached the engine, want 1", calls)
		}
	})
}

// What changes something is logged with who did it, and nothing that may be
// secret.
func TestLog(t *testing.T) {
	t.Parallel()
	var lines []string
	logger := funcr.New(func(prefix, args string) {
		before, _, _ := strings.Cut(args, ` "duration"=`)
		if _, problem, found := strings.Cut(args, ` "error"=`); found {
			before += " error " + problem
		}
		lines = append(lines, prefix+": "+before)
	}, funcr.Options{Verbosity: 4})
	inner := simulated.New()
	inner.AddImage(engine.Image{Tags: []string{"image:v1"}}, nil)
	inner.HandleExec(func(string, engine.Command) (engine.Output, error) { return engine.Output{}, nil })
	eng := must.Get(metered.New(inner, prometheus.NewRegistry(), metered.Options{Logger: logger}))(t)
	ctx := logr.NewContext(t.Context(), logger.WithName("c").WithValues("controller", "containermachine", "name", "m"))
	secret := "hunter2"
	spec := engine.Spec{Name: "a", Image: "image:v1", Environment: map[string]string{"PASSWORD": secret}}
	_, created := eng.CreateContainer(ctx, spec)
	_, executed := eng.Exec(ctx, "a", engine.Command{Args: []string{"sh", "-c", secret}, Stdin: strings.NewReader(secret)})
	_, inspected := eng.InspectContainer(ctx, "a")
	_, listed := eng.ListContainers(ctx, nil)
	if err := errors.Join(created, inspected, listed); err != nil || executed == nil {
		t.Fatalf("%v, %v", err, executed)
	}
	must.Succeed(t, eng.RemoveVolume(t.Context(), "v"))
	who := ` "controller"="containermachine" "name"="m"`
	want := []string{
		`c/engine: "level"=0 "msg"="Called the container engine"` + who + ` "method"="CreateContainer" "container"="a" "image"="image:v1"`,
		`c/engine: "level"=4 "msg"="Called the container engine"` + who + ` "method"="Exec" "container"="a" "program"="sh" error ` + fmt.Sprintf("%q", executed),
		`engine: "level"=0 "msg"="Called the container engine" "method"="RemoveVolume" "volume"="v"`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if strings.Contains(strings.Join(lines, ""), secret) {
		t.Error("a secret is in the log")
	}
}
