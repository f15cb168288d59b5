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

// Package records keeps what capcon has recorded of its clusters in step with the engine and the
// management planes. It changes neither.
package records

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Store is the records of the clusters of one engine, and the containers that they lead to.
type Store struct {
	*output.Printer
	state.Directory

	// root of the directories of all engines.
	root string
	// Program is the command as the user typed it.
	program string
	engine  engine.ContainerReader
	info    engine.Info
	// failed: the state directory cannot be changed, which was reported.
	failed atomic.Bool
}

// Open the store of an engine, below the root of all.
func Open(root, program string, printer *output.Printer, e engine.ContainerReader, info engine.Info) *Store {
	return &Store{Printer: printer, Directory: state.For(root, info.Name, info.ID), root: root, program: program, engine: e, info: info}
}

// Reading is the same store for clusters whose containers are on another engine.
func (s *Store) Reading(e engine.ContainerReader) *Store {
	return &Store{Printer: s.Printer, Directory: s.Directory, root: s.root, program: s.program, engine: e, info: s.info}
}

// Unsaved warns of the first error of a change of the state directory. A full disk must not
// keep a command from its work, least of all one that frees the disk.
func (s *Store) Unsaved(err error) {
	if err == nil || !s.failed.CompareAndSwap(false, true) {
		return
	}
	s.Warnf("the state directory cannot be changed, so records and kubeconfigs of clusters may be out of date: %v", err)
}

// Names are the names of the clusters that have a record. What cannot be read is
// reported and skipped.
func (s *Store) Names() []string {
	names, foreign, err := s.Clusters()
	if err != nil {
		s.Warnf("%v", err)
	}
	if len(foreign) > 0 {
		s.Warnf("the state directory has files that are not of capcon, which were ignored: %s", output.OrNone(foreign))
	}
	return names
}

// Get returns the record of a cluster. One that cannot be read is reported, and has
// no owner ID.
func (s *Store) Get(name string) (record state.Cluster, found bool) {
	record, found, err := s.Load(name)
	if err != nil {
		s.Warnf("%v; the record was ignored", err)
		return state.Cluster{}, true
	}
	return record, found
}

// SaveOwner saves that the management plane that is known has the cluster of an owner ID. The record of another
// one of that name is not overwritten while its containers exist: nothing else leads to
// them.
func (s *Store) SaveOwner(ctx context.Context, name, ownerID string, known inventory.Manager) (state.Cluster, error) {
	before, _ := s.Get(name)
	record := s.updated(state.Cluster{OwnerID: ownerID}, known)
	if before.OwnerID != ownerID {
		others, err := s.ContainersOfOwner(ctx, name, before.OwnerID)
		if err != nil {
			return state.Cluster{}, err
		}
		if len(others) > 0 {
			s.Warnf("cluster %q was not recorded, because there is %s of an earlier cluster of that name; delete it with \"%s gc --owner %s --yes\"",
				name, output.Plural(len(others), "container"), s.program, before.OwnerID)
			return record, nil
		}
	}
	s.put(name, before, record)
	return record, nil
}

// updated record, by what a management plane knows. One that has the cluster is on the
// engine that the cluster is on, or knows on which.
func (s *Store) updated(record state.Cluster, known inventory.Manager) state.Cluster {
	latest := Of(record).Update(known)
	record.Plane, record.Moved = latest.Plane, latest.Moved
	if cluster, found := known.Find(record.OwnerID); found {
		record.Namespace = management.Namespace
		record.Engine, record.EngineName = s.thisEngine(), cluster.Engine
		record.OtherEngines = slices.DeleteFunc(slices.Clone(cluster.Engines), func(name string) bool { return name == cluster.Engine || name == "" })
	}
	return record
}

func (s *Store) thisEngine() state.Engine {
	return state.Engine{Name: s.info.Name, Endpoint: s.info.Endpoint, StorageID: s.info.StorageID}
}

// Update the records by what management planes know, and return them. A plane that is removed
// knows nothing more.
func (s *Store) Update(planes ...inventory.Manager) []inventory.Record {
	var records []inventory.Record
	for _, name := range s.Names() {
		record, _ := s.Get(name)
		if record.OwnerID == "" {
			continue
		}
		latest := record
		for _, known := range planes {
			latest = s.updated(latest, known)
		}
		s.put(name, record, latest)
		records = append(records, Of(latest))
	}
	return records
}

func (s *Store) put(name string, before, after state.Cluster) {
	if !reflect.DeepEqual(before, after) {
		s.Unsaved(s.Save(name, after))
	}
}

// ForgetOwner forgets a cluster, unless the record is of another owner.
func (s *Store) ForgetOwner(name, ownerID string) {
	if record, found := s.Get(name); found && record.OwnerID == ownerID && ownerID != "" {
		s.Unsaved(s.Forget(name))
	}
}

// Containers of the cluster that is recorded under a name.
func (s *Store) Containers(ctx context.Context, name string) ([]engine.Container, error) {
	record, _ := s.Get(name)
	return s.ContainersOfOwner(ctx, name, record.OwnerID)
}

// ContainersOfOwner of a cluster; none without an owner ID.
func (s *Store) ContainersOfOwner(ctx context.Context, name, ownerID string) ([]engine.Container, error) {
	if ownerID == "" {
		return nil, nil
	}
	return s.ListContainers(ctx, identity.Owner{Namespace: management.Namespace, Cluster: name, ID: ownerID})
}

// ListContainers of an owner.
func (s *Store) ListContainers(ctx context.Context, owner identity.Owner) ([]engine.Container, error) {
	containers, err := s.engine.ListContainers(ctx, owner.Labels())
	if err != nil {
		return nil, fmt.Errorf("list containers of cluster %q: %w", owner.Cluster, err)
	}
	return containers, nil
}

// Of a cluster, what is saved of it.
func Of(saved state.Cluster) inventory.Record {
	return inventory.Record{OwnerID: saved.OwnerID, Plane: saved.Plane, Moved: saved.Moved}
}

// AllNames are those of the clusters of any engine.
func AllNames(getenv func(string) string) ([]string, error) {
	root, err := state.Root(getenv)
	if err != nil {
		return nil, err
	}
	engines, err := state.All(root)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, directory := range engines {
		found, _, err := directory.Clusters()
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	return names, nil
}
