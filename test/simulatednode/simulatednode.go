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

// Package simulatednode is what runs in a node's container on the simulated
// engine: a boot that carries out the bootstrap it was given, records how far
// it is, and does not begin it twice.
package simulatednode

import (
	"path"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// Nodes are the nodes of one engine.
type Nodes struct {
	engine *simulated.Engine

	mutex sync.Mutex
	first record.State
}

// Run lets every container that was given a bootstrap begin it when it first
// starts. It stays at Started until Record says otherwise.
func Run(eng *simulated.Engine) *Nodes {
	n := &Nodes{engine: eng, first: record.Started}
	eng.OnStart(n.boot)
	return n
}

// FirstBoot sets what the record says after the first boot.
func (n *Nodes) FirstBoot(state record.State) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.first = state
}

func (n *Nodes) boot(container string) {
	if _, err := n.engine.ReadFile(container, path.Join(script.Directory, "bootstrap")); err != nil {
		// Not a node, or one that lacks its bootstrap: nothing happens.
		return
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	state := path.Join(record.Path, "state")
	recorded, err := n.engine.ReadFile(container, state)
	next := n.first
	switch {
	case err == nil && record.State(recorded) == record.Started:
		next = record.Interrupted
	case err == nil:
		return
	}
	// The container exists: it has just started.
	_ = n.engine.WriteFile(container, state, []byte(next))
}

// Record writes files of a node's record, by their names without "state.":
// "" is the state itself.
func Record(eng *simulated.Engine, container string, files map[string]string) error {
	for name, content := range files {
		file := "state"
		if name != "" {
			file += "." + name
		}
		if err := eng.WriteFile(container, path.Join(record.Path, file), []byte(content)); err != nil {
			return err
		}
	}
	return nil
}
