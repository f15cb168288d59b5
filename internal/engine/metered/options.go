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

package metered

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
)

// Options of a metered engine. By default nothing limits the rate of calls.
type Options struct {
	// CallsPerSecond is the most calls per second in the long run; 0 = no
	// limit. The stream of events is one call, which is not counted.
	CallsPerSecond float64
	// Burst is how many calls may be made immediately after a rest; 0 = as many
	// as in a second, at least one.
	Burst int
	// ReadLimit is the most time without progress of a call which changes nothing;
	// 0 = 30 s. ChangeLimit is that of one which may change something; 0 = 5 min.
	// A pull, saving and loading of an image and a log that is followed have none.
	ReadLimit, ChangeLimit time.Duration
	// Engine is the name of the engine in metrics and logs; empty = the manager's own.
	Engine string
	// Logger of calls whose context has none, as outside of a controller.
	Logger logr.Logger
}

// AddFlags registers a flag for each option that a user has.
func (o *Options) AddFlags(set *pflag.FlagSet) {
	set.Float64Var(&o.CallsPerSecond, "engine-qps", 0, "Most calls per second to the container engine; 0 means no limit. "+
		"A limit slows everything down that the engine could have done faster; it is for an engine that others need too.")
	set.IntVar(&o.Burst, "engine-burst", 0, "Most calls to the container engine in one burst, where --engine-qps limits them; 0 means as many as in a second.")
}

func (o Options) limiter() *rate.Limiter {
	if o.CallsPerSecond <= 0 {
		return nil
	}
	burst := o.Burst
	if burst <= 0 {
		burst = max(1, int(math.Ceil(o.CallsPerSecond)))
	}
	return rate.NewLimiter(rate.Limit(o.CallsPerSecond), burst)
}

// wait until a call may be made. A context that ends meanwhile, or would end
// before: its error.
func (e *Engine) wait(ctx context.Context, method string) error {
	if e.limiter == nil {
		return nil
	}
	start := time.Now()
	err := e.limiter.Wait(ctx)
	e.delay.Add(time.Since(start).Seconds())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	// The limiter knows that the time left is too short, and returns
	// without waiting.
	return fmt.Errorf("wait for rate limit of engine calls (%s): %w: %w", method, context.DeadlineExceeded, err)
}

// routineVerbosity of the calls that are made at each reconcile, and mostly change nothing:
// a command reads the state of the load balancer, and the manager's own container
// is connected to the cluster's network unless it is.
const routineVerbosity = 4

// log a call that may change something. The logger of the context has the controller and
// the object it is made for, from controller-runtime.
func (e *Engine) log(ctx context.Context, c forward.Call, took time.Duration, err error) {
	log, missing := logr.FromContext(ctx)
	if missing != nil {
		log = e.fallback
	}
	if c.Method == methodExec || c.Method == methodConnect {
		log = log.V(routineVerbosity)
	}
	var pairs []any
	if e.name != "" {
		pairs = append(pairs, "engine", e.name)
	}
	pairs = append(pairs, "method", c.Method, c.Changes, c.Object)
	pairs = append(pairs, c.Details...)
	pairs = append(pairs, "duration", took.String())
	if err != nil {
		pairs = append(pairs, "error", err.Error())
	}
	log.WithName("engine").Info("Called the container engine", pairs...)
}
