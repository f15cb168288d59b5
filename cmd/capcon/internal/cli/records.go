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

package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// warn of what does not keep the command from its work. Each warning is printed once,
// at the end.
func (a *app) warn(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); !slices.Contains(a.warnings, text) {
		a.warnings = append(a.warnings, text)
	}
}

func (a *app) printWarnings() {
	for _, text := range a.warnings {
		a.complain("Warning: %s", text)
	}
}

// unsaved warns of the first error of a change of the state directory. A full disk must not
// keep a command from its work, least of all one that frees the disk.
func (a *app) unsaved(err error) {
	if err == nil || a.stateFailed {
		return
	}
	a.stateFailed = true
	a.warn("the state directory cannot be changed, so records and kubeconfigs of clusters may be out of date: %v", err)
}

// recordedNames are the names of the clusters that have a record. What cannot be read is
// reported and skipped.
func (s *session) recordedNames() []string {
	names, foreign, err := s.state.Clusters()
	if err != nil {
		s.warn("%v", err)
	}
	if len(foreign) > 0 {
		s.warn("the state directory has files that are not of capcon, which were ignored: %s", orNone(foreign))
	}
	return names
}

// recorded returns the record of a cluster. One that cannot be read is reported, and has
// no owner ID.
func (s *session) recorded(name string) (record state.Cluster, found bool) {
	record, found, err := s.state.Load(name)
	if err != nil {
		s.warn("%v; the record was ignored", err)
		return state.Cluster{}, true
	}
	return record, found
}

// saveRecord saves that the management plane has the cluster of an owner ID. The record of another
// one of that name is not overwritten while its containers exist: nothing else leads to
// them.
func (s *session) saveRecord(ctx context.Context, name, ownerID string) (state.Cluster, error) {
	known, err := s.askThisPlane(ctx)
	if err != nil {
		return state.Cluster{}, err
	}
	before, _ := s.recorded(name)
	record := s.updated(state.Cluster{OwnerID: ownerID}, known)
	if before.OwnerID != ownerID {
		others, err := s.containersOfOwner(ctx, name, before.OwnerID)
		if err != nil {
			return state.Cluster{}, err
		}
		if len(others) > 0 {
			s.warn("cluster %q was not recorded, because there is %s of an earlier cluster of that name; delete it with \"%s gc --owner %s --yes\"",
				name, plural(len(others), "container"), s.Program, before.OwnerID)
			return record, nil
		}
	}
	s.save(name, before, record)
	return record, nil
}

// updated record, by what a management plane knows. One that has the cluster is on the
// engine that the cluster is on.
func (s *session) updated(record state.Cluster, known inventory.Manager) state.Cluster {
	latest := recordOf(record).Update(known)
	record.Plane, record.Moved = latest.Plane, latest.Moved
	if known.Has(record.OwnerID) {
		record.Namespace = namespace
		record.Engine = s.thisEngine()
	}
	return record
}

func (s *session) thisEngine() state.Engine {
	return state.Engine{Name: s.info.Name, Endpoint: s.info.Endpoint, StorageID: s.info.StorageID}
}

// askThisPlane what it has, and which clusters were moved away from it.
func (s *session) askThisPlane(ctx context.Context) (inventory.Manager, error) {
	known := inventory.Manager{Plane: true, ID: s.planeID}
	err := s.persist(ctx, func() error { return describeManager(ctx, s.client, &known) })
	return known, err
}

// updateRecords by what management planes know, and return them. A plane that is removed
// knows nothing more.
func (s *session) updateRecords(planes ...inventory.Manager) []inventory.Record {
	var records []inventory.Record
	for _, name := range s.recordedNames() {
		record, _ := s.recorded(name)
		if record.OwnerID == "" {
			continue
		}
		latest := record
		for _, known := range planes {
			latest = s.updated(latest, known)
		}
		s.save(name, record, latest)
		records = append(records, recordOf(latest))
	}
	return records
}

func (s *session) save(name string, before, after state.Cluster) {
	if before != after {
		s.unsaved(s.state.Save(name, after))
	}
}

// forgetOwner forgets a cluster, unless the record is of another owner.
func (s *session) forgetOwner(name, ownerID string) {
	if record, found := s.recorded(name); found && record.OwnerID == ownerID && ownerID != "" {
		s.unsaved(s.state.Forget(name))
	}
}

// containersOf the cluster that is recorded under a name.
func (s *session) containersOf(ctx context.Context, name string) ([]engine.Container, error) {
	record, _ := s.recorded(name)
	return s.containersOfOwner(ctx, name, record.OwnerID)
}

func (s *session) containersOfOwner(ctx context.Context, name, ownerID string) ([]engine.Container, error) {
	if ownerID == "" {
		return nil, nil
	}
	owner := identity.Owner{Namespace: namespace, Cluster: name, ID: ownerID}
	containers, err := s.engine.ListContainers(ctx, owner.Labels())
	if err != nil {
		return nil, fmt.Errorf("list containers of cluster %q: %w", name, err)
	}
	return containers, nil
}

// elsewhere says that a cluster of which nothing is found may be somewhere else: it was
// created on another engine, or this one had other data then. nil where that is not so.
func (s *session) elsewhere(ctx context.Context, name string) error {
	record, found, err := s.state.Load(name)
	switch {
	case err != nil:
		return nil //nolint:nilerr // A record that cannot be read says nothing.
	case found:
		containers, err := s.containersOfOwner(ctx, name, record.OwnerID)
		if err != nil || len(containers) > 0 {
			return err // they prove that it is this engine
		}
		return s.checkStorage(name, record)
	}
	all, err := state.All(s.stateRoot)
	if err != nil {
		return nil //nolint:nilerr // What cannot be read says nothing.
	}
	for _, directory := range all {
		record, found, err := directory.Load(name)
		if err == nil && found && record.OwnerID != "" {
			return &elsewhereError{name: name, here: s.connected, engine: record.Engine, path: directory.ClusterPath(name)}
		}
	}
	return nil
}

// checkStorage of the engine, whether it is the one that the cluster was created on. "Not
// found" on another one says nothing.
func (s *session) checkStorage(name string, record state.Cluster) error {
	if record.Engine.StorageID == "" || record.Engine.StorageID == s.info.StorageID {
		return nil
	}
	return &elsewhereError{name: name, here: s.connected, engine: record.Engine, path: s.state.ClusterPath(name)}
}

// elsewhereError: the cluster was created on another engine than the one that is asked, or
// on this one when it had other data.
type elsewhereError struct {
	name, here string
	engine     state.Engine
	// path of the record.
	path string
}

// Error implements error.
func (e *elsewhereError) Error() string {
	where := "an engine"
	if e.engine.Name != "" {
		where = e.engine.String()
	}
	return fmt.Sprintf("state of cluster %q is unknown: it was created on %s, and %s has other data; "+
		"select its engine (--engine, DOCKER_HOST, CONTAINER_HOST), or, if that no longer exists, delete the record: rm -r %s",
		e.name, where, e.here, shellQuote(e.path))
}

// checkPassedOver refuses an engine that was chosen because another one, which has
// clusters, does not respond: the command would report those as not found, or create
// others of the same names.
func (s *session) checkPassedOver() error {
	all, err := state.All(s.stateRoot)
	if err != nil {
		return nil //nolint:nilerr // What cannot be read says nothing.
	}
	for _, directory := range all {
		names, _, _ := directory.Clusters()
		for _, name := range names {
			record, _, err := directory.Load(name)
			if err == nil && slices.Contains(s.info.PassedOver, record.Engine.Endpoint) {
				return &passedOverError{cluster: name, engine: record.Engine, chosen: s.thisEngine()}
			}
		}
	}
	return nil
}

// passedOverError: the engine of a recorded cluster does not respond, and another one does.
type passedOverError struct {
	cluster        string
	engine, chosen state.Engine
}

// Error implements error.
func (e *passedOverError) Error() string {
	remedy := "--engine " + e.chosen.Name
	if e.chosen.Name == e.engine.Name {
		remedy = hostVariables[e.chosen.Name] + "=" + e.chosen.Endpoint
	}
	return fmt.Sprintf("%s, which has cluster %q, does not respond; start it, or use %s instead: %s", e.engine, e.cluster, e.chosen, remedy)
}

// hostVariables select an endpoint, by the name of its engine.
var hostVariables = map[string]string{connect.Docker: "DOCKER_HOST", connect.Podman: "CONTAINER_HOST"}
