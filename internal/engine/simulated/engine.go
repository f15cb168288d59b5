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

package simulated

import (
	"cmp"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Engine is an in-memory engine.Engine with controls for tests. It is safe
// for concurrent use.
type Engine struct {
	now  func() time.Time
	info engine.Info
	pool []netip.Prefix

	// hooks guards what a test scripts, apart from mu: hooks call the engine.
	hooks hooks

	mu         sync.Mutex
	down       bool
	closed     bool
	serial     int
	containers map[string]*container
	networks   map[string]*network
	volumes    map[string]*volume
	images     []*image
	// others are what other engines store that have answered here, by StorageID.
	others   map[string]storage
	registry map[string]*registryImage
	// hostPaths holds what bind mounts show, by path of the host.
	hostPaths    map[string]tree
	missingPaths map[string]bool
	cdiDevices   map[string]bool
	// hostPorts are taken by processes of the host.
	hostPorts map[uint16]bool
	nextPort  uint16
	// portFree reports whether a port is free on the host of this process; nil = it is.
	portFree    func(uint16) bool
	subscribers map[*subscriber]struct{}
}

var _ engine.Engine = (*Engine)(nil)

// Option changes how an Engine begins.
type Option func(*Engine)

// WithClock sets where times come from; the default is time.Now.
func WithClock(now func() time.Time) Option {
	return func(e *Engine) { e.now = now }
}

// Traits of simulated engines.
func Traits() engine.Traits {
	return engine.Traits{
		Product: "Simulated", OldestMajor: 1,
		Socket: "/run/simulated.sock", RootlessSocket: "/run/simulated.sock", SocketVariable: "SIMULATED_HOST",
		Push:     "simulated push",
		BootUnit: "simulated.service",
	}
}

// WithInfo sets what Info answers. An empty Name, ID, StorageID or Traits stays the simulated one.
func WithInfo(info engine.Info) Option {
	return func(e *Engine) { e.info = info }
}

// WithSubnets sets the subnets the engine chooses from for networks that name
// none. The default is what Docker chooses from: 172.18.0.0/16 to
// 172.31.0.0/16.
func WithSubnets(pool ...netip.Prefix) Option {
	return func(e *Engine) { e.pool = pool }
}

// WithHostPorts sets which ports are free on the host of this process. By default, only other
// containers and OccupyHostPort take one.
func WithHostPorts(free func(port uint16) bool) Option {
	return func(e *Engine) { e.portFree = free }
}

// WithoutJournal lets the engine forget the calls that were made, for a process that runs for long.
func WithoutJournal() Option {
	return func(e *Engine) { e.hooks.forgets = true }
}

// firstDynamicPort is where Linux' range of ephemeral ports begins, from which
// Docker takes host ports.
const firstDynamicPort = 32768

// New returns an engine with neither containers, networks nor images.
func New(options ...Option) *Engine {
	e := &Engine{
		now: time.Now,
		info: engine.Info{
			Version: "1.0.0", APIVersion: "1.0", Endpoint: "simulated://",
			CgroupVersion: "2", CgroupDriver: "systemd",
			StorageDriver: "overlay2", Architecture: "amd64", Kernel: "6.1.0",
			OperatingSystem: "Simulated", CPUs: 8, MemoryBytes: 16 << 30,
		},
		hooks:      hooks{fail: map[string][]error{}, logs: map[string]string{}},
		containers: map[string]*container{},
		networks:   map[string]*network{},
		volumes:    map[string]*volume{},
		others:     map[string]storage{},
		registry:   map[string]*registryImage{},
		hostPaths:  map[string]tree{}, missingPaths: map[string]bool{}, cdiDevices: map[string]bool{},
		hostPorts:   map[uint16]bool{},
		nextPort:    firstDynamicPort,
		subscribers: map[*subscriber]struct{}{},
	}
	for second := 18; second <= 31; second++ {
		e.pool = append(e.pool, netip.PrefixFrom(netip.AddrFrom4([4]byte{172, byte(second), 0, 0}), 16))
	}
	for _, option := range options {
		option(e)
	}
	if e.info.Name == "" {
		e.info.Name = "simulated"
	}
	if e.info.ID == "" {
		e.info.ID = "simulated"
	}
	e.info.StorageID = cmp.Or(e.info.StorageID, e.info.ID)
	if e.info.Traits.Product == "" {
		e.info.Traits = Traits()
	}
	return e
}

// newID returns an ID of the length Docker's have. Called with mu held.
func (e *Engine) newID() string {
	e.serial++
	return fmt.Sprintf("%064x", e.serial)
}

func absent(kind, name string) error {
	return fmt.Errorf("%s %q: %w", kind, name, engine.ErrNotFound)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, engine.ErrInvalid)...)
}

func conflict(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, engine.ErrConflict)...)
}

func taken(resource engine.Resource, value string) error {
	return &engine.ConflictError{Resource: resource, Value: value}
}
