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

package stress_test

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// What an engine is given by default, and takes here.
const (
	readLimit, changeLimit   = 30 * time.Second, 5 * time.Minute
	lateAnswer, slowCreation = 40 * time.Second, 90 * time.Second
)

// slowEngine is a machine on an engine that takes its time.
type slowEngine struct {
	*subject
	proxy *slowProxy
	// scale divides the limits and what exceeds them.
	scale time.Duration
}

// TestIntegrationSlowEngine has an engine that answers after 40 s, and one that takes
// 90 s, or longer than its limit, to create a container. A machine's container is
// created once and becomes ready by the next reconciles.
//
// Environment:
//
//	SCALE  divides all these times and the limits; default 10
func TestIntegrationSlowEngine(t *testing.T) {
	t.Parallel()
	eng := integration.Engine(t, nodeImage)
	scale := time.Duration(10)
	if text := os.Getenv("SCALE"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 {
			t.Fatalf("SCALE: %q, want a number above 0 (%v)", text, err)
		}
		scale = time.Duration(number)
	}
	for name, test := range map[string]func(*slowEngine){
		"answers after 40s": (*slowEngine).answersLate,
		"answers after 40s once the container is created":   (*slowEngine).answersLateOnceCreated,
		"a creation takes 90s":                              (*slowEngine).createsSlowly,
		"a creation takes 90s and the manager is restarted": (*slowEngine).createsSlowlyBelowRestart,
		"a creation takes longer than its limit":            (*slowEngine).createsTooSlowly,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := must.Get(eng.Info(t.Context()))(t)
			proxy := newSlowProxy(t, eng)
			limits := metered.Options{ReadLimit: readLimit / scale, ChangeLimit: changeLimit / scale}
			s := &slowEngine{subject: newSubject(t, eng, proxy.connect(t, info.Name, limits), nodeImage), proxy: proxy, scale: scale}
			test(s)
		})
	}
}

// answersLate for a while, whatever it is asked.
func (s *slowEngine) answersLate() {
	s.proxy.slowDown(func(*http.Request) delay { return delay{after: lateAnswer / s.scale} })
	s.await(infrav1.ContainerReadyCondition, "Unknown/"+infrav1.EngineUnavailableReason+": inspect container")
	if created := s.proxy.created(); created != 0 {
		s.t.Errorf("%d containers were created while nothing was known", created)
	}
	s.proxy.slowDown(nil)
	s.endsWithOne(1)
}

// answersLateOnceCreated: the first question about the new container has no answer.
func (s *slowEngine) answersLateOnceCreated() {
	s.proxy.slowDown(func(*http.Request) delay {
		if s.proxy.created() == 0 {
			return delay{}
		}
		return delay{after: lateAnswer / s.scale}
	})
	// On a busy host a question before it may have no answer either.
	for s.proxy.created() == 0 {
		s.await(infrav1.ContainerReadyCondition, "Unknown/"+infrav1.EngineUnavailableReason)
	}
	s.proxy.slowDown(nil)
	s.endsWithOne(1)
}

// createsSlowly but within the limit.
func (s *slowEngine) createsSlowly() {
	s.proxy.slowDown(creations(delay{before: slowCreation / s.scale}))
	s.endsWithOne(1)
}

// createsSlowlyBelowRestart: the manager that asked for the container does not get the
// answer, and the next one finds it.
func (s *slowEngine) createsSlowlyBelowRestart() {
	s.proxy.slowDown(creations(delay{after: slowCreation / s.scale}))
	ctx, kill := context.WithCancel(s.t.Context())
	defer kill()
	s.proxy.onCreation = kill
	for deadline := time.Now().Add(patience); ctx.Err() == nil; {
		if _, err := s.reconcile(ctx); err == nil && ctx.Err() == nil || time.Now().After(deadline) {
			s.t.Fatalf("no container was created (%v)", err)
		}
	}
	s.restart(imagepull.NewTracker(s.disturbed))
	// It may ask again, while the engine has not finished the first.
	s.endsWithOne(0)
}

// createsTooSlowly: the caller gives up, asks again, and the engine does both.
func (s *slowEngine) createsTooSlowly() {
	s.proxy.slowDown(creations(delay{before: (changeLimit + slowCreation) / s.scale}))
	s.await(infrav1.ContainerReadyCondition, "Unknown/"+infrav1.EngineUnavailableReason)
	// Also later requests are that late.
	s.endsWithOne(0)
}

// endsWithOne container that is ready, after so many requests for one; 0 = any number.
func (s *slowEngine) endsWithOne(requests int) {
	s.t.Helper()
	s.awaitReady()
	if created := s.proxy.created(); requests > 0 && created != requests {
		s.t.Errorf("the engine was asked for %d containers, want %d", created, requests)
	}
}

// creations are delayed.
func creations(of delay) func(*http.Request) delay {
	return func(request *http.Request) delay {
		if isCreation(request) {
			return of
		}
		return delay{}
	}
}
