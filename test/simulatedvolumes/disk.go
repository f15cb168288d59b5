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

// Package simulatedvolumes simulates what the commands of package clustervolume do in nodes, and
// records where two of them could write.
package simulatedvolumes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// Disk is the volume of a cluster, with what its nodes have mounted of it.
type Disk struct {
	engine *simulated.Engine
	// Before is called before a command runs in a node; nil = nothing. An error is the answer.
	Before func(container, operation string) error
	// Full says that the disk has no space for another directory, Older are nodes without the volume.
	Full  bool
	Older map[string]bool

	mutex sync.Mutex
	// tokens of the directories.
	tokens map[string]string
	nodes  map[string]*mounts
	// shared are the PersistentVolumes that several nodes may have.
	shared     map[string]bool
	violations []string
}

// mounts of one run of a container.
type mounts struct {
	started     time.Time
	bound, used map[string]bool
}

// New returns an empty volume on an engine.
func New(e *simulated.Engine) *Disk {
	return &Disk{engine: e, tokens: map[string]string{}, nodes: map[string]*mounts{}, shared: map[string]bool{}, Older: map[string]bool{}}
}

// Share a PersistentVolume among nodes.
func (d *Disk) Share(volume string) { d.shared[volume] = true }

// Violations are the PersistentVolumes that two nodes could write to.
func (d *Disk) Violations() []string { return d.violations }

// Directories with their tokens.
func (d *Disk) Directories() map[string]string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return maps.Clone(d.tokens)
}

// Bound are the running containers that have a PersistentVolume bound or in use.
func (d *Disk) Bound(volume string) []string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.having(volume)
}

// having: called with the mutex held.
func (d *Disk) having(volume string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(d.nodes)) {
		if m := d.current(name); m.bound[volume] || m.used[volume] {
			names = append(names, name)
		}
	}
	return names
}

// current mounts of a container: none since it was started again, or while it does not run.
func (d *Disk) current(container string) *mounts {
	fresh := &mounts{bound: map[string]bool{}, used: map[string]bool{}}
	found, err := d.engine.InspectContainer(context.Background(), container) //nolint:forbidigo // A simulation has no caller.
	if err != nil || found.Status != engine.StatusRunning && found.Status != engine.StatusPaused {
		return fresh
	}
	if m := d.nodes[container]; m != nil && m.started.Equal(found.StartedAt) {
		return m
	}
	fresh.started = found.StartedAt
	d.nodes[container] = fresh
	return fresh
}

// Mount a PersistentVolume for a Pod, as kubelet does. It reports whether that succeeded.
func (d *Disk) Mount(container, volume string) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	m := d.current(container)
	if m.bound[volume] {
		m.used[volume] = true
	}
	d.check(volume)
	return m.bound[volume]
}

// Unmount what Mount did.
func (d *Disk) Unmount(container, volume string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.current(container).used, volume)
}

func (d *Disk) check(volume string) {
	if have := d.having(volume); len(have) > 1 && !d.shared[volume] {
		d.violations = append(d.violations, fmt.Sprintf("%s is in %s", volume, strings.Join(have, " and ")))
	}
}

// Handle runs a command in a node; for HandleExec of the simulated engine.
func (d *Disk) Handle(container string, command engine.Command) (engine.Output, error) {
	if command.Args[0] == "df" {
		return engine.Output{Stdout: []byte("Avail\n1073741824\n")}, nil
	}
	operation, arguments := command.Args[3], command.Args[4:]
	if d.Before != nil {
		if err := d.Before(container, operation); err != nil {
			return engine.Output{}, err
		}
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.Older[container] {
		return exit(3)
	}
	if operation == clustervolume.OperationObserve {
		return engine.Output{Stdout: []byte(d.observe(container))}, nil
	}
	return d.change(container, operation, arguments)
}

func (d *Disk) observe(container string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.tokens)) {
		fmt.Fprintf(&text, "directory %s %s\n", name, d.tokens[name])
	}
	m := d.current(container)
	for _, name := range slices.Sorted(maps.Keys(m.bound)) {
		fmt.Fprintf(&text, "bound %s /run/cluster-volumes/%s\nmount %s /run/cluster-volumes/%s\n", name, name, name, name)
	}
	for _, name := range slices.Sorted(maps.Keys(m.used)) {
		fmt.Fprintf(&text, "mount %s/data /var/lib/kubelet/pods/%s\n", name, name)
	}
	return text.String()
}

func (d *Disk) change(container, operation string, arguments []string) (engine.Output, error) {
	volume := arguments[0]
	token, exists := d.tokens[volume]
	m := d.current(container)
	switch operation {
	case clustervolume.OperationCreate:
		return d.create(volume)
	case clustervolume.OperationUnbind:
		delete(m.bound, volume)
		return engine.Output{}, nil
	case clustervolume.OperationRemove:
		if exists && token != arguments[1] {
			return exit(6)
		}
		delete(d.tokens, volume)
		return engine.Output{}, nil
	}
	expected := arguments[len(arguments)-1]
	if operation != clustervolume.OperationCopy {
		expected = arguments[1]
	}
	switch {
	case !exists:
		return exit(4)
	case token != expected:
		return exit(6)
	}
	switch operation {
	case clustervolume.OperationCopy:
		return d.create(arguments[1])
	case clustervolume.OperationBind:
		m.bound[volume] = true
		d.check(volume)
	}
	d.tokens[volume] = arguments[2]
	return engine.Output{}, nil
}

func (d *Disk) create(volume string) (engine.Output, error) {
	if d.Full {
		return engine.Output{Stderr: []byte("No space left on device")}, &engine.ExitError{Code: 1}
	}
	if _, exists := d.tokens[volume]; !exists {
		d.tokens[volume] = "0."
	}
	return engine.Output{}, nil
}

func exit(code int) (engine.Output, error) { return engine.Output{}, &engine.ExitError{Code: code} }
