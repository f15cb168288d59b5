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
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/union"
)

// MembersOf returns the names of the ContainerEngines that a cluster over several is on; none of another one.
func MembersOf(cluster *infrav1.ContainerCluster) []types.NamespacedName {
	var names []types.NamespacedName
	for _, name := range cluster.Spec.EngineNames {
		names = append(names, types.NamespacedName{Namespace: cluster.Namespace, Name: name})
	}
	return names
}

// IsOn reports whether a cluster is on an engine, or may be on it.
func IsOn(cluster *infrav1.ContainerCluster, name types.NamespacedName) bool {
	return NameOf(cluster) == name || slices.Contains(MembersOf(cluster), name)
}

// Joint returns several engines as one, of which home is the first. Those that are lost have nothing; those that do not
// respond may have anything.
func (e *Engines) Joint(home *Connection, names []types.NamespacedName) *union.Engine {
	return union.New(func() []union.Member {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		members := []union.Member{{Name: home.Name.Name, Engine: home.Engine}}
		for _, name := range names {
			if name == home.Name {
				continue
			}
			connection, err := e.find(name)
			switch {
			case err == nil:
				members = append(members, union.Member{Name: name.Name, Engine: connection.Engine})
			case !errors.Is(err, ErrLost):
				members = append(members, union.Member{Name: name.Name, Err: err})
			}
		}
		return members
	})
}

// Members returns the connections to the engines of a cluster over several, apart from those that are lost; an *UnavailableError where one
// does not respond.
func (e *Engines) Members(cluster *infrav1.ContainerCluster) ([]*Connection, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var members []*Connection
	for _, name := range MembersOf(cluster) {
		connection, err := e.find(name)
		switch {
		case err == nil:
			members = append(members, connection)
		case !errors.Is(err, ErrLost):
			return nil, err
		}
	}
	return members, nil
}

// joined returns the connection of a cluster over several engines: the same one while that to its home is the same. The caller
// holds the mutex.
func (e *Engines) joined(home *Connection, names []types.NamespacedName) *Connection {
	key := fmt.Sprint(home.Name, names)
	known := e.joint[key]
	if known == nil || known.home != home {
		copied := *home
		copied.home, copied.Engine = home, e.Joint(home, names)
		known = &copied
		e.joint[key] = known
	}
	return known
}

// Joint returns the engines of the connection of a cluster over several; nil of another one.
func (c *Connection) Joint() *union.Engine {
	joint, _ := c.Engine.(*union.Engine)
	return joint
}

// Home is the engine of the connection alone: of a cluster over several, that of its load balancer.
func (c *Connection) Home() engine.Engine {
	if c.home != nil {
		return c.home.Engine
	}
	return c.Engine
}
