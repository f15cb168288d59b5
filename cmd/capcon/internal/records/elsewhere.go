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

package records

import (
	"context"
	"fmt"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Connected describes an engine for users.
func Connected(info engine.Info) string {
	return fmt.Sprintf("%s %s at %s", info.Name, info.Version, info.Endpoint)
}

// Elsewhere says that a cluster of which nothing is found may be somewhere else: it was
// created on another engine, or this one had other data then. nil where that is not so.
func (s *Store) Elsewhere(ctx context.Context, name string) error {
	record, found, err := s.Load(name)
	switch {
	case err != nil:
		return nil //nolint:nilerr // A record that cannot be read says nothing.
	case found:
		containers, err := s.ContainersOfOwner(ctx, name, record.OwnerID)
		if err != nil || len(containers) > 0 {
			return err // they prove that it is this engine
		}
		return s.CheckStorage(name, record)
	}
	all, err := state.All(s.root)
	if err != nil {
		return nil //nolint:nilerr // What cannot be read says nothing.
	}
	for _, directory := range all {
		record, found, err := directory.Load(name)
		if err == nil && found && record.OwnerID != "" {
			return &ElsewhereError{name: name, here: Connected(s.info), engine: record.Engine, path: directory.ClusterPath(name)}
		}
	}
	return nil
}

// CheckStorage of the engine, whether it is the one that the cluster was created on. "Not
// found" on another one says nothing.
func (s *Store) CheckStorage(name string, record state.Cluster) error {
	if record.Engine.StorageID == "" || record.Engine.StorageID == s.info.StorageID {
		return nil
	}
	return &ElsewhereError{name: name, here: Connected(s.info), engine: record.Engine, path: s.ClusterPath(name)}
}

// ElsewhereError says that the cluster was created on another engine than the queried one, or
// on this one when it had other data.
type ElsewhereError struct {
	name, here string
	engine     state.Engine
	// path of the record.
	path string
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	where := "an engine"
	if e.engine.Name != "" {
		where = e.engine.String()
	}
	return fmt.Sprintf("state of cluster %q is unknown: it was created on %s, and %s has other data; "+
		"select its engine (--engine, DOCKER_HOST, CONTAINER_HOST), or, if that no longer exists, delete the record: rm -r %s",
		e.name, where, e.here, output.ShellQuote(e.path))
}

// CheckPassedOver refuses an engine that was chosen because another one, which has
// clusters, does not respond: the command would report those as not found, or create
// others of the same names.
func (s *Store) CheckPassedOver() error {
	all, err := state.All(s.root)
	if err != nil {
		return nil //nolint:nilerr // What cannot be read says nothing.
	}
	for _, directory := range all {
		names, _, _ := directory.Clusters()
		for _, name := range names {
			record, _, err := directory.Load(name)
			if err == nil && slices.Contains(s.info.PassedOver, record.Engine.Endpoint) {
				return s.passedOver(name, record.Engine)
			}
		}
	}
	return nil
}

// passedOver is the error of an engine with a recorded cluster that does not respond, where another
// one does.
func (s *Store) passedOver(cluster string, silent state.Engine) error {
	chosen := s.thisEngine()
	remedy := "--engine " + chosen.Name
	if chosen.Name == silent.Name {
		remedy = s.info.Traits.SocketVariable + "=" + chosen.Endpoint
	}
	return fmt.Errorf("%s, which has cluster %q, does not respond; start it, or use %s instead: %s", silent, cluster, chosen, remedy)
}
