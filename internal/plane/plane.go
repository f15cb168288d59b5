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

// Package plane is the management plane as seen from outside: one container on
// an engine, and how it is made sure of, observed and removed. What runs inside
// is in the packages below: daemon, manager, manifests, pki, readiness and
// supervise.
//
// The container is nothing but its image: all state lies in a volume, which
// also records, as a label, the host port the API is published on. So a plane
// may be replaced by one of a newer image, and a container that was lost is
// recreated, and kubeconfigs printed before stay valid.
package plane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/readiness"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/tunnel"
)

// NoEngines as Options.AllowedEngines allows no endpoint of a ContainerEngine.
const NoEngines = "none"

// Options of a plane.
type Options struct {
	// Name of the container, with which the volume's begins. Default
	// DefaultName: one plane per engine.
	Name string
	// Network the plane lives on, created if it is missing. Default
	// network.DefaultName.
	Network string
	// EngineSocket is the path, on the engine's host, of the socket the
	// plane's controllers use. Empty: the one of the endpoint if that is a
	// socket of this host, otherwise the engine's usual one.
	EngineSocket string
	// FeatureGates of Cluster API, such as "A=true,B=false". Empty: an existing plane keeps its own.
	FeatureGates string
	// AllowedEngines are the endpoints that ContainerEngines may have, as patterns of internal/endpoint with commas
	// between them, or NoEngines. Empty: an existing plane keeps its own.
	AllowedEngines string
	// InMemory: clusters of the plane have no containers, but API servers in its manager. A plane is one of them for its life.
	// nil = a new plane has containers, and an existing one is as it is.
	InMemory *bool
	// Tunnels open the way to a plane whose engine is on another host. nil = the engine
	// publishes its port on this host.
	Tunnels *tunnel.Tunnels
	// Info of the engine; zero = Ensure asks for it.
	Info engine.Info
	// LastKubeconfig is the one of this plane, or one that it replaced, that worked last on
	// this host; nil = none. It is not downloaded again while the plane answers with it.
	LastKubeconfig []byte
	// ReadyTimeout bounds how long Ensure waits for a plane that runs.
	// Default 3 min.
	ReadyTimeout time.Duration
}

// Engine is what a plane needs of an engine.
type Engine interface {
	engine.Containers
	engine.Images
	engine.Networks
	engine.Volumes
	engine.Inventory
	engine.Host
}

// Plane is the management plane of one engine, which may exist or not.
type Plane struct {
	engine Engine
	opts   Options
	// choosePort for a new plane, and ready, are replaced in tests.
	choosePort func(ctx context.Context) (uint16, error)
	ready      func(ctx context.Context, kubeconfig []byte, missing func(error)) error
	answers    func(ctx context.Context, kubeconfig []byte) error
}

// New returns the plane of an engine; nothing is asked or done yet.
func New(eng Engine, opts Options) *Plane {
	if opts.Name == "" {
		opts.Name = DefaultName
	}
	if opts.Network == "" {
		opts.Network = network.DefaultName
	}
	if opts.ReadyTimeout == 0 {
		opts.ReadyTimeout = 3 * time.Minute
	}
	return &Plane{engine: eng, opts: opts, choosePort: freePort, ready: readiness.Wait, answers: readiness.Check}
}

// The range that ports are chosen from: above the registered services users
// run, below the ports that Linux gives to outgoing connections, one of which
// might have the plane's after a reboot.
const (
	firstPort = 20000
	lastPort  = 29999
	portTries = 100
)

// freePort chooses a port that is free on 127.0.0.1 now.
func freePort(ctx context.Context) (uint16, error) {
	var last error
	for range portTries {
		port := uint16(firstPort + rand.IntN(lastPort-firstPort+1)) //nolint:gosec // below 30000, and no secret
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
		if err != nil {
			last = err
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("find free port: %w", last)
}

// The check whether the API server answers is bounded: a frozen one never does. Docker's client
// makes an SSH connection for each tunnel, which takes seconds to a slow host.
const (
	answerTimeout       = 3 * time.Second
	tunnelAnswerTimeout = 20 * time.Second
)

func (p *Plane) answerTimeout() time.Duration {
	if p.opts.Tunnels != nil {
		return tunnelAnswerTimeout
	}
	return answerTimeout
}

// State is what there is of a plane.
type State struct {
	// ID distinguishes planes that follow one another under one name; empty where
	// there is none, or one that is retired and waits for its removal.
	ID string
	// Exists is false where there is neither container nor volume.
	Exists bool
	// Image the container was created from; empty where there is none.
	Image string
	// InMemory: its clusters are in memory, see Options.
	InMemory bool
	// Answers says that API server and controllers are ready.
	Answers bool
	// Detail is for users: why it does not answer, or where it does.
	Detail string
	// Kubeconfig that works on this host; empty where the API server does not answer.
	Kubeconfig []byte
}

// State observes the plane and starts nothing. A plane that does not answer is
// no error.
func (p *Plane) State(ctx context.Context) (State, error) {
	container, err := p.inspect(ctx)
	if errors.Is(err, engine.ErrNotFound) {
		volume, err := p.findVolume(ctx)
		if errors.Is(err, engine.ErrNotFound) {
			return State{Detail: "not found"}, nil
		}
		return State{ID: volume.Name, Exists: err == nil, InMemory: isInMemory(volume.Labels), Detail: "container not found, data volume exists"}, err
	}
	if err != nil {
		return State{}, err
	}
	state := State{ID: volumeOf(container), Exists: true, Image: container.Image}
	retired, err := p.retired(ctx, container)
	if err != nil {
		return State{}, err
	}
	if retired {
		state.ID, state.Detail = "", "is being removed"
		return state, nil
	}
	state.InMemory = isInMemory(container.Labels)
	if container.Status != engine.StatusRunning {
		state.Detail = "container is " + string(container.Status)
		return state, nil
	}
	unanswered := p.check(ctx, p.opts.LastKubeconfig)
	if unanswered == nil {
		return state.answering(p.opts.LastKubeconfig), nil
	}
	kubeconfig, err := p.downloadKubeconfig(ctx, container.ID)
	if errors.Is(err, engine.ErrNotFound) {
		state.Detail = "is starting"
		return state, nil
	}
	if err != nil {
		return State{}, err
	}
	if !bytes.Equal(kubeconfig, p.opts.LastKubeconfig) { // a frozen plane takes the whole timeout
		unanswered = p.check(ctx, kubeconfig)
	}
	if unanswered != nil {
		state.Detail = stage(unanswered)
		if errors.Is(unanswered, readiness.ErrControllers) {
			state.Kubeconfig = kubeconfig
		}
		return state, nil
	}
	return state.answering(kubeconfig), nil
}

// CheckMode refuses clusters of another kind than the plane has: nil = of its kind. *ModeError.
func (s State) CheckMode(inMemory *bool) error {
	if s.ID == "" || inMemory == nil || *inMemory == s.InMemory {
		return nil
	}
	return &ModeError{InMemory: s.InMemory}
}

func (s State) answering(kubeconfig []byte) State {
	s.Answers, s.Detail, s.Kubeconfig = true, "ready", kubeconfig
	return s
}

// check whether the plane answers with a kubeconfig, in limited time.
func (p *Plane) check(ctx context.Context, kubeconfig []byte) error {
	if len(kubeconfig) == 0 {
		return ErrNotReady
	}
	if err := p.openTunnel(kubeconfig); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, p.answerTimeout())
	defer cancel()
	return p.answers(limited, kubeconfig)
}

// inspect returns the plane's container. One of that name that is not a
// plane's: *ForeignError.
func (p *Plane) inspect(ctx context.Context) (engine.Container, error) {
	return p.inspectNamed(ctx, p.opts.Name)
}

func (p *Plane) inspectNamed(ctx context.Context, name string) (engine.Container, error) {
	container, err := p.engine.InspectContainer(ctx, name)
	if err != nil {
		return engine.Container{}, engine.Failed("inspect", name, err)
	}
	if container.Labels[identity.LabelRole] != string(identity.RolePlane) {
		return engine.Container{}, &ForeignError{Kind: "container", Name: name}
	}
	return container, nil
}

// stage says for users what a plane that is not ready lacks.
func stage(err error) string {
	switch {
	case errors.Is(err, readiness.ErrAPIServer):
		return "waiting for API server"
	case errors.Is(err, readiness.ErrControllers):
		return "waiting for controllers"
	default:
		return err.Error()
	}
}
