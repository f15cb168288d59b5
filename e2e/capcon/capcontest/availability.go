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

package capcontest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Availability of an API server or a Service, seen by a client that asks again and again, each time with a new connection and
// whether or not the last request is answered. Unlike Traffic, it measures what is expected to fail.
type Availability struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu       sync.Mutex
	requests []request
}

type request struct {
	start time.Time
	err   error
}

// Outage begins with the first request that fails, and ends with the next one that does not.
type Outage struct {
	Start    time.Time
	Duration time.Duration
	// Requests that failed, and what the first of them met.
	Requests int
	Err      error
	// Over, because a later request succeeded.
	Over bool
}

// betweenRequests is how precise the measurement is. A request that waits longer than patienceWithRequest has failed.
const betweenRequests, patienceWithRequest = 200 * time.Millisecond, 5 * time.Second

// MeasureAvailability of an API server begins; it ends with the test at the latest. Every member of etcd has to agree to what
// it reads.
func MeasureAvailability(t *testing.T, config *rest.Config) *Availability {
	t.Helper()
	return MeasureAvailabilityOf(t, config.Host+"/api/v1/namespaces/kube-system", must.Get(NewConnections(config))(t))
}

// MeasureAvailabilityOf a URL begins.
func MeasureAvailabilityOf(t *testing.T, url string, client *http.Client) *Availability {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a := &Availability{t: t, cancel: cancel}
	t.Cleanup(a.Stop)
	a.ended.Go(func() {
		ticks := time.NewTicker(betweenRequests)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				a.ended.Go(func() { a.ask(ctx, client, url) })
			case <-ctx.Done():
				return
			}
		}
	})
	return a
}

func (a *Availability) ask(ctx context.Context, client *http.Client, url string) {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, patienceWithRequest)
	defer cancel()
	_, err := Get(limited, client, url)
	if ctx.Err() != nil {
		return // It was stopped.
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, request{start, err})
}

// Stop the client.
func (a *Availability) Stop() {
	a.cancel()
	a.ended.Wait()
}

// Outages so far. Requests that are not answered yet do not count.
func (a *Availability) Outages() []Outage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return outages(a.requests)
}

func outages(requests []request) []Outage {
	var found []Outage
	requests = slices.SortedFunc(slices.Values(requests), func(a, b request) int { return a.start.Compare(b.start) })
	down := false
	for _, r := range requests {
		if r.err != nil && !down {
			found = append(found, Outage{Start: r.start, Err: r.err})
		}
		if down || r.err != nil {
			last := &found[len(found)-1]
			last.Duration = r.start.Sub(last.Start)
			last.Over = r.err == nil
			if r.err != nil {
				last.Requests++
			}
		}
		down = r.err != nil
	}
	return found
}

// LongestOutage so far; the zero Outage where no request failed.
func (a *Availability) LongestOutage() Outage {
	found := a.Outages()
	if len(found) == 0 {
		return Outage{}
	}
	return slices.MaxFunc(found, func(a, b Outage) int { return cmp.Compare(a.Duration, b.Duration) })
}

// AwaitAnswers waits until the last outage is over, and nothing has failed for a while.
func (a *Availability) AwaitAnswers(t *testing.T, calm time.Duration) {
	t.Helper()
	EventuallyWithin(t, Patience+calm, fmt.Sprintf("all requests succeed for %s", calm), func(context.Context) (string, error) {
		found := a.Outages()
		if len(found) == 0 {
			return "", nil
		}
		last := found[len(found)-1]
		if end := last.Start.Add(last.Duration); last.Over && time.Since(end) >= calm {
			return "", nil
		}
		return last.String(), nil
	})
}

// String is one line.
func (o Outage) String() string {
	state := "over"
	if !o.Over {
		state = "not over"
	}
	if o.Err == nil {
		return "none"
	}
	return fmt.Sprintf("%s: %.1fs, %s, %d requests failed: %s", o.Start.Format(time.TimeOnly), o.Duration.Seconds(), state, o.Requests, short(o.Err))
}

// String reports the requests so far.
func (a *Availability) String() string {
	found := a.Outages()
	a.mu.Lock()
	defer a.mu.Unlock()
	lines := []string{fmt.Sprintf("%d requests, %d outages", len(a.requests), len(found))}
	for _, outage := range found {
		lines = append(lines, outage.String())
	}
	return strings.Join(lines, "\n")
}
