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

package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/internal/engineobject"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
)

// probeTimeout is how long an engine may take to say who it is. It is that of all calls that change
// nothing (see internal/engine/metered).
const probeTimeout = 30 * time.Second

// Options of the engines of objects.
type Options struct {
	// Metered has the rate limit of each engine.
	Metered metered.Options
	// Registerer of the metrics of each engine; nil = they are not published.
	Registerer prometheus.Registerer
	// Open; nil = connect.Remote.
	Open engineobject.Open
	// ProbeTimeout; 0 = 30 s.
	ProbeTimeout time.Duration
}

func (o Options) withDefaults() Options {
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, probeTimeout)
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Open == nil {
		o.Open = connect.Remote
	}
	return o
}

// entry is the engine of an object.
type entry struct {
	at          endpoint.Endpoint
	credentials string
	dialer      *remote.Dialer
	gate        *gate
	connection  *Connection
	// metered is the engine behind the gate.
	metered engine.Engine
	// ctx of what runs for the engine, until end.
	ctx context.Context //nolint:containedctx // It outlives the reconcile that connects.
	end context.CancelFunc
	// clean what managers left on the host, once it responds.
	clean func()
}

// Target is what an object says of its engine.
type Target struct {
	At          endpoint.Endpoint
	Credentials remote.Credentials
	// Digest of the credentials: others have another one.
	Digest    string
	Placement Placement
}

// Connect makes sure that there is a client for an engine, with these credentials. It does not dial: Probe
// does. Credentials that cannot be used close the engine: a *remote.CredentialsError.
func (e *Engines) Connect(ctx context.Context, name types.NamespacedName, target Target) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	known := e.remote[name]
	if known != nil && known.at != target.At {
		e.remove(name, known, errRemoved)
		known = nil
	}
	if known == nil {
		made, err := e.open(ctx, name, target)
		if err != nil {
			e.reasons[name] = err
			return err
		}
		delete(e.reasons, name)
		e.remote[name] = made
		return nil
	}
	if known.connection.Placement != target.Placement {
		// A copy: reconciles that have the connection continue with what they read.
		changed := *known.connection
		changed.Placement = target.Placement
		known.connection = &changed
	}
	if known.credentials == target.Digest {
		return nil
	}
	if err := known.dialer.Rotate(target.Credentials); err != nil {
		known.gate.set(known.ctx, &UnavailableError{Engine: name, Err: err})
		return err
	}
	known.credentials = target.Digest
	return nil
}

func (e *Engines) open(ctx context.Context, name types.NamespacedName, target Target) (*entry, error) {
	client, err := engineobject.NewClient(target.At, target.Credentials, e.options.Open)
	if err != nil {
		return nil, err
	}
	options := e.options.Metered
	options.Engine = name.String()
	counted, err := metered.New(client, e.options.Registerer, options)
	if err != nil {
		return nil, fmt.Errorf("create client of engine: %w", err)
	}
	made := &entry{at: target.At, credentials: target.Digest, dialer: client.Dialer, metered: counted}
	log := ctrl.LoggerFrom(ctx).WithName("engine").WithValues("engine", name.String())
	made.ctx, made.end = context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), log))
	made.gate = newGate(made.ctx, counted, &UnavailableError{Engine: name, Err: errUnknown})
	made.connection = &Connection{
		Name: name, Engine: made.gate, Images: imagepull.NewTracker(made.gate), Host: hostinfo.NewObserver(made.gate), Placement: target.Placement,
	}
	images, host := made.connection.Images, made.connection.Host
	made.clean = sync.OnceFunc(func() { go func() { _ = host.Start(made.ctx) }() })
	go func() { _ = images.Start(made.ctx) }()
	from := engineevents.From{Name: name, Engine: made.gate}
	go counted.Events(made.ctx, func(event engine.Event) { e.publish(from, event) })
	return made, nil
}

// Verify says why an engine that responded is not to be used; nil = it is. The reader is not bound
// to what the answer is.
type Verify func(ctx context.Context, info engine.Info, eng engine.ContainerReader) error

// Probe asks an engine who it is. Until it responds, and is the right one, all other calls of it fail.
func (e *Engines) Probe(ctx context.Context, name types.NamespacedName, verify Verify) (hostinfo.Answer, error) {
	e.mutex.Lock()
	known := e.remote[name]
	e.mutex.Unlock()
	if known == nil {
		return hostinfo.Answer{}, &UnavailableError{Engine: name, Err: errUnknown}
	}
	from := engineevents.From{Name: name, Engine: known.gate}
	late := fmt.Errorf("no response within %s: %w", e.options.ProbeTimeout, engine.ErrUnavailable)
	asking, cancel := context.WithTimeoutCause(ctx, e.options.ProbeTimeout, late)
	defer cancel()
	answer := hostinfo.Answer{Asked: time.Now()}
	var err error
	answer.Info, err = known.metered.Info(asking)
	answer.Answered = time.Now()
	responded := err == nil
	if responded {
		err = verify(asking, answer.Info, known.metered)
	}
	switch {
	case ctx.Err() != nil:
		return answer, ctx.Err() // The manager ends: nothing is known.
	case err != nil && asking.Err() != nil:
		err = late
	}
	if err == nil {
		if known.gate.set(known.ctx, nil) {
			e.publish(from, engine.Event{Kind: engine.EventRelist})
		}
		known.clean()
		return answer, nil
	}
	if known.gate.set(known.ctx, &UnavailableError{Engine: name, Err: err}) {
		e.publish(from, engine.Event{Kind: engine.EventLost})
	}
	if !responded {
		// What hangs in a connection that others share ends with it.
		known.dialer.Reset()
	}
	return answer, err
}

// Connection of an engine, whether it responds or not; nil where there is none.
func (e *Engines) Connection(name types.NamespacedName) *Connection {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if known := e.remote[name]; known != nil {
		return known.connection
	}
	return nil
}

// Closed returns an engine that is closed to reconcilers now, for what is to be done before it is opened; nil where there is
// none, or it is open.
func (e *Engines) Closed(name types.NamespacedName) engine.Engine {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if known := e.remote[name]; known != nil && known.gate.closed() != nil {
		return known.metered
	}
	return nil
}

// Suspend ends all calls of an engine with the reason, until a probe of it succeeds. Its client keeps the
// credentials.
func (e *Engines) Suspend(name types.NamespacedName, reason error) {
	e.mutex.Lock()
	known := e.remote[name]
	if known == nil {
		e.reasons[name] = reason
	}
	e.mutex.Unlock()
	if known == nil {
		return
	}
	if known.gate.set(known.ctx, &UnavailableError{Engine: name, Err: reason}) {
		e.publish(engineevents.From{Name: name, Engine: known.gate}, engine.Event{Kind: engine.EventLost})
	}
	known.dialer.Reset()
}

// Disconnect ends all calls of an engine with the reason, and its client; nil = the object is gone.
func (e *Engines) Disconnect(name types.NamespacedName, reason error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if known := e.remote[name]; known != nil {
		e.remove(name, known, cmp.Or(reason, errRemoved))
	}
	if delete(e.reasons, name); reason != nil {
		e.reasons[name] = reason
	}
}

// remove an entry; the caller holds the mutex.
func (e *Engines) remove(name types.NamespacedName, known *entry, reason error) {
	delete(e.remote, name)
	known.gate.set(known.ctx, &UnavailableError{Engine: name, Err: reason})
	known.end()
	_ = known.gate.Close() // Nothing waits for it.
}

// Start ends all clients with the manager.
func (e *Engines) Start(ctx context.Context) error {
	<-ctx.Done()
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for name, known := range e.remote {
		e.remove(name, known, context.Cause(ctx))
	}
	return nil
}

// Source returns the events of all engines for a controller. Its Exits observe them too.
func (e *Engines) Source(mapping engineevents.Mapping) source.Source {
	own := engineevents.Source(e.own.Engine, mapping)
	return source.Func(func(ctx context.Context, queue engineevents.Queue) error {
		e.mutex.Lock()
		e.watchers = append(e.watchers, watcher{
			ctx:     ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("engine-events")),
			Watcher: engineevents.Watcher{Mapping: mapping, Queue: queue},
		})
		e.mutex.Unlock()
		return own.Start(ctx, queue)
	})
}

// publish an event of an engine to all controllers.
func (e *Engines) publish(from engineevents.From, event engine.Event) {
	e.mutex.Lock()
	watchers := e.watchers[:len(e.watchers):len(e.watchers)]
	e.mutex.Unlock()
	for _, watching := range watchers {
		if watching.ctx.Err() == nil {
			watching.Handle(watching.ctx, from, event)
		}
	}
}

// IsUnavailable reports whether an error is that of a lookup.
func IsUnavailable(err error) bool {
	var unavailable *UnavailableError
	return errors.As(err, &unavailable)
}
