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

// Package hostinfo caches facts about an engine's host, so that it is probed
// once in a while and not for every machine.
//
// The cache is lost with the manager and filled again. No caller waits
// for the engine longer than its context allows, and none for what another
// asks.
package hostinfo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// Engine is what observing a host needs of an engine.
type Engine interface {
	engine.Containers
	engine.Host
}

// Facts are what is known of an engine's host.
type Facts struct {
	// Probed by a container on it.
	Probed preflight.Host
	// Node is what nodes on it need to know.
	Node node.Host
}

// Observer finds out about the host of one engine.
type Observer struct {
	engine Engine
	// isKnown: the facts do not change.
	isKnown bool
	// name of the containers it looks through: random, so that two managers
	// on one engine do not meet, and one for all, so that an error that
	// names it reads the same each time.
	name string

	// inFlight are the questions that the engine has not answered yet.
	inFlight singleflight.Group

	// mutex guards what follows. It is never held across a call to the engine.
	mutex sync.Mutex
	// answer of the engine, the last one.
	answer Answer
	// facts, the last ones, what they were observed with, and when.
	facts  *Facts
	probe  preflight.ProbeContainer
	probed time.Time
	// suspect says that the engine was unavailable since: another one, on
	// another host, may answer next.
	suspect bool
}

// NewObserver returns an Observer that has not looked yet.
func NewObserver(eng Engine) *Observer {
	return &Observer{engine: eng, name: "capcon-probe-" + rand.String(8)}
}

// NewKnown returns an Observer that need not look.
func NewKnown(eng Engine, facts Facts) *Observer {
	return &Observer{engine: eng, facts: &facts, isKnown: true}
}

// Answer is what an engine said of itself, between two moments of our clock.
type Answer struct {
	Info            engine.Info
	Asked, Answered time.Time
}

// answerAge is for how long an answer is taken for that of now. Little of it
// changes while an engine runs, and Podman's costs a good part of a second:
// each time it asks the package manager which versions its helpers have.
const answerAge = 15 * time.Second

// Ask returns what the engine says of itself, or said a moment ago. An error is
// the engine's own, which names it.
func (o *Observer) Ask(ctx context.Context, host engine.Host) (Answer, error) {
	o.mutex.Lock()
	answer := o.answer
	o.mutex.Unlock()
	if !answer.Asked.IsZero() && time.Since(answer.Asked) < answerAge {
		return answer, nil
	}
	return share(ctx, o, "info", func(ctx context.Context) (Answer, error) {
		answer := Answer{Asked: time.Now()}
		info, err := host.Info(ctx)
		o.mutex.Lock()
		defer o.mutex.Unlock()
		if err != nil {
			o.suspect = true
			return answer, err
		}
		answer.Info, answer.Answered = info, time.Now()
		o.answer = answer
		return answer, nil
	})
}

// Info is what the engine says of itself, or said a moment ago.
func (o *Observer) Info(ctx context.Context) (engine.Info, error) {
	answer, err := o.Ask(ctx, o.engine)
	return answer.Info, err
}

// Known returns the last facts there are, also while the engine does not
// answer.
func (o *Observer) Known() (Facts, bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.facts == nil {
		return Facts{}, false
	}
	return *o.facts, true
}

// factsAge is for how long facts are taken for those of now: long enough for
// the machines of one cluster to share a probe, which takes about a second,
// and short enough that a host whose kernel was upgraded needs no restart of
// the manager.
const factsAge = 5 * time.Minute

// Observe returns the facts. The first call, one after factsAge, and one after
// the engine was unavailable probe with a container of the image, which must be
// present and have a shell, on the network. Facts that cannot be renewed are
// not used for a new node: what failed here fails for the node too.
func (o *Observer) Observe(ctx context.Context, image, network string) (Facts, error) {
	o.mutex.Lock()
	fresh := o.facts != nil && (o.isKnown || !o.suspect && time.Since(o.probed) < factsAge)
	o.mutex.Unlock()
	if facts, known := o.Known(); known && fresh {
		return facts, nil
	}
	return o.look(ctx, preflight.ProbeContainer{Name: o.name, Labels: probeLabels(), Image: image, Network: network})
}

// renewAfter bounds how often a host is probed again that lacks something.
const renewAfter = 10 * time.Second

// Renew probes again with what was probed with before, for facts that keep
// clusters from working: the host may have been repaired. Where that cannot be
// done, or was a moment ago, the facts stay as they are.
func (o *Observer) Renew(ctx context.Context) (Facts, error) {
	facts, known := o.Known()
	o.mutex.Lock()
	probe, recent := o.probe, time.Since(o.probed) < renewAfter
	o.mutex.Unlock()
	if !known || o.isKnown || recent {
		return facts, nil
	}
	renewed, err := o.look(ctx, probe)
	if errors.Is(err, engine.ErrNotFound) { // image or network are gone
		return facts, nil
	}
	return renewed, err
}

// lookLimit bounds a probe of the host, whose callers may all have given up. On a busy host a container takes tens of seconds.
const lookLimit = 5 * time.Minute

// share has callers who ask the same at the same time wait for one answer, each
// as long as its own context allows.
func share[T any](ctx context.Context, o *Observer, question string, ask func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		answer   T
		err      error
		panicked any
	}
	answered := o.inFlight.DoChan(question, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
		defer cancel()
		var out outcome
		func() {
			defer func() { out.panicked = recover() }()
			out.answer, out.err = ask(ctx)
		}()
		return out, nil
	})
	select {
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("wait for the engine: %w", context.Cause(ctx))
	case result := <-answered:
		out, _ := result.Val.(outcome)
		if out.panicked != nil {
			// In the goroutine of a reconcile it is recovered; in another it would
			// end the manager.
			panic(out.panicked)
		}
		return out.answer, out.err
	}
}

// look probes the host with a container.
func (o *Observer) look(ctx context.Context, container preflight.ProbeContainer) (Facts, error) {
	return share(ctx, o, "probe", func(ctx context.Context) (Facts, error) {
		facts, err := o.run(ctx, container)
		o.mutex.Lock()
		defer o.mutex.Unlock()
		switch {
		case errors.Is(err, engine.ErrUnavailable):
			o.suspect = true
		case err == nil && facts.Probed.PrivilegedError == nil:
			o.facts, o.probe, o.probed, o.suspect = &facts, container, time.Now(), false
		}
		return facts, err
	})
}
