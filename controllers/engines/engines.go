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

// Package engines gives reconcilers the engine of an object: that of the ContainerEngine which it
// names, or else the manager's own.
//
// Each engine has one client, one stream of events, one rate limit and one tracker of image pulls. What an
// engine of an object does concerns the objects on it alone: a lookup never waits for one, calls
// end when it is found not to respond, and Slots keep workers free for the others.
//
// The controller of ContainerEngines connects, probes and disconnects them:
//
//	registry := engines.New(engines.Own(eng), engines.Options{})
//	connection, err := registry.For(containerMachine)
package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
)

// Connection is an engine, with what the manager knows of it.
type Connection struct {
	// Name of the ContainerEngine; empty = the manager's own engine.
	Name   types.NamespacedName
	Engine engine.Engine
	// Images that are being pulled.
	Images *imagepull.Tracker
	// Host of the engine.
	Host *hostinfo.Observer
	// Placement of clusters on the engine of an object.
	Placement Placement

	// home of a cluster over several engines; nil for one engine.
	home *Connection
}

// Placement is what an object says of clusters on its engine.
type Placement struct {
	// AdvertiseAddress is where ports that are published on the engine's host are reached.
	AdvertiseAddress string
	// FailureDomain of machines that ask for none.
	FailureDomain string
	// Maintenance: no cluster is created on the engine.
	Maintenance bool
}

// IsRemote reports whether it is the engine of an object, whose networks the manager does not reach.
func (c *Connection) IsRemote() bool { return c != nil && c.Name.Name != "" }

// Own returns the connection to the manager's own engine. Its Images are to be started.
func Own(eng engine.Engine) *Connection {
	return &Connection{Engine: eng, Images: imagepull.NewTracker(eng), Host: hostinfo.NewObserver(eng)}
}

// UnavailableError says why there is no engine for an object.
type UnavailableError struct {
	// Engine is the name of the ContainerEngine.
	Engine types.NamespacedName
	// Err is the reason.
	Err error
}

// Error implements error.
func (e *UnavailableError) Error() string {
	if e.Engine.Name == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("ContainerEngine %q: %v", e.Engine, e.Err)
}

// Unwrap makes it an engine.ErrUnavailable.
func (e *UnavailableError) Unwrap() []error { return []error{engine.ErrUnavailable, e.Err} }

var (
	// errUnknown: it is not there, or the manager has just started.
	errUnknown = errors.New("not found in the namespace of the cluster, or not connected to yet")
	// errUnplaced: no engine has been chosen.
	errUnplaced = errors.New("no ContainerEngine has been chosen for the cluster yet")
	// errRemoved: the object is gone.
	errRemoved = errors.New("not found")
	// ErrLost is the reason of Disconnect for an engine whose administrator says that it is lost.
	ErrLost = errors.New("spec.lost says that the engine is gone")
)

// Engines are all that the manager has.
type Engines struct {
	own     *Connection
	options Options

	mutex  sync.Mutex
	remote map[types.NamespacedName]*entry
	// reasons why there is none of a name.
	reasons  map[types.NamespacedName]error
	watchers []watcher
	// joint connections of clusters over several engines.
	joint map[string]*Connection
}

// New returns Engines that have only the manager's own.
func New(own *Connection, options Options) *Engines {
	return &Engines{own: own, options: options.withDefaults(), remote: map[types.NamespacedName]*entry{}, reasons: map[types.NamespacedName]error{}, joint: map[string]*Connection{}}
}

// NameOf returns the name of the ContainerEngine that an object is on; empty = the manager's own engine.
func NameOf(object client.Object) types.NamespacedName {
	var name string
	switch object := object.(type) {
	case *infrav1.ContainerCluster:
		name = object.Spec.EngineName
	default:
		// A machine outlives the object of its cluster.
		name = object.GetAnnotations()[infrav1.EngineNameAnnotation]
	}
	if name == "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: name}
}

// IsUnplaced reports whether the engine of a cluster is still to be chosen. Until then, it has none.
func IsUnplaced(cluster *infrav1.ContainerCluster) bool {
	if len(cluster.Spec.EngineNames) > 0 {
		return cluster.Spec.EngineName == ""
	}
	return cluster.Spec.EngineName == "" && cluster.Spec.EngineSelector != nil && cluster.Annotations[infrav1.EngineAnnotation] == ""
}

// IsUnreached reports whether nothing of a cluster can be on the ContainerEngine that it names: there is no such object, whose
// finalizer would keep it with a cluster on it, and the identity of the engine, which is recorded before anything is
// created there, is not.
func IsUnreached(ctx context.Context, c client.Reader, cluster *infrav1.ContainerCluster) (bool, error) {
	if cluster.Spec.EngineName == "" || len(cluster.Spec.EngineNames) > 0 || cluster.Annotations[infrav1.EngineAnnotation] != "" {
		return false, nil
	}
	err := c.Get(ctx, NameOf(cluster), &infrav1.ContainerEngine{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("get ContainerEngine: %w", err)
	}
	return false, nil
}

// BusyInterval is how long an object waits for a worker at its engine.
const BusyInterval = time.Second

// Own returns the connection to the manager's own engine.
func (e *Engines) Own() *Connection { return e.own }

// For returns the engine of an object, or an *UnavailableError. It does not wait.
func (e *Engines) For(object client.Object) (*Connection, error) {
	if cluster, isCluster := object.(*infrav1.ContainerCluster); isCluster && IsUnplaced(cluster) {
		return nil, &UnavailableError{Err: errUnplaced}
	}
	name := NameOf(object)
	if name == (types.NamespacedName{}) {
		return e.own, nil
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	connection, err := e.find(name)
	if cluster, isCluster := object.(*infrav1.ContainerCluster); isCluster && err == nil && len(cluster.Spec.EngineNames) > 0 {
		return e.joined(connection, MembersOf(cluster)), nil
	}
	return connection, err
}

// find the engine of an object; the caller holds the mutex.
func (e *Engines) find(name types.NamespacedName) (*Connection, error) {
	known := e.remote[name]
	if known == nil {
		return nil, &UnavailableError{Engine: name, Err: cmp.Or(e.reasons[name], errUnknown)}
	}
	if reason := known.gate.closed(); reason != nil {
		return nil, reason
	}
	return known.connection, nil
}

// Slots bound how many workers of a controller are at one engine of an object.
type Slots struct {
	// Limit of each engine; 0 = none.
	Limit int

	mutex sync.Mutex
	taken map[types.NamespacedName]int
}

// Enter reports whether a worker may go to the engine of an object, and returns what ends that. The
// manager's own engine is not limited.
func (s *Slots) Enter(object client.Object) (leave func(), entered bool) {
	name := NameOf(object)
	if s == nil || s.Limit == 0 || name == (types.NamespacedName{}) {
		return func() {}, true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.taken == nil {
		s.taken = map[types.NamespacedName]int{}
	}
	if s.taken[name] >= s.Limit {
		return nil, false
	}
	s.taken[name]++
	return func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if s.taken[name]--; s.taken[name] == 0 {
			delete(s.taken, name)
		}
	}, true
}

// watcher is a controller that hears of events until its context ends.
type watcher struct {
	ctx context.Context //nolint:containedctx // That of its source, for which events are handled.
	engineevents.Watcher
}
