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

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// NotFoundError says that a cluster was not found, where, and which
// clusters there are: most often the name is mistyped.
type NotFoundError struct {
	Name string
	// Where it was searched.
	Where string
	// Others that there are.
	Others []string
	Remedy string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("cluster %q not found in %s, which has %s; %s", e.Name, e.Where, e.Present(), e.Remedy)
}

// Present are the clusters that there are, for users.
func (e *NotFoundError) Present() string { return cmp.Or(strings.Join(e.Others, ", "), "no clusters") }

// ManagementCluster that is queried, for users.
func (m *ManagementPlane) ManagementCluster() string {
	return fmt.Sprintf("management cluster %s (%s)", plane.DefaultName, m.Connected)
}

// NotFound in the management cluster, which answers.
func (m *ManagementPlane) NotFound(ctx context.Context, name string) error {
	if err := m.Records.Elsewhere(ctx, name); err != nil {
		return err
	}
	clusters, err := management.Clusters(ctx, m.Client)
	if err != nil {
		return err
	}
	missing := &NotFoundError{Name: name, Where: m.ManagementCluster(), Remedy: m.Creates(name)}
	for i := range clusters {
		missing.Others = append(missing.Others, Shown(clusters[i].Namespace, clusters[i].Name))
	}
	return missing
}

// Creates says which command creates the cluster.
func (a *App) Creates(name string) string {
	return fmt.Sprintf("create it with \"%s up %s\"", a.Program, name)
}

// Shown is a cluster's name as commands take it, and with its namespace where
// they do not.
func Shown(of, name string) string {
	if of == management.Namespace {
		return name
	}
	return of + "/" + name
}

// PlaneSilent is no error where no plane is expected.
func (m *ManagementPlane) PlaneSilent(ctx context.Context, plane plane.State, name string) error {
	if plane.Exists {
		return fmt.Errorf("the management plane is not ready (%s), and the status of its clusters is unknown; "+
			"restart it with \"%s plane up\"", plane.Detail, m.Program)
	}
	saved := m.Records.Names()
	left := fmt.Sprintf("no management cluster found on %s", m.Connected)
	if len(saved) > 0 {
		left += fmt.Sprintf("; containers of these clusters may remain: %s; delete them with \"%s down NAME\"",
			strings.Join(saved, ", "), m.Program)
	}
	if name != "" {
		if err := m.Records.Elsewhere(ctx, name); err != nil {
			return err
		}
	}
	switch {
	case name != "" && !slices.Contains(saved, name):
		return fmt.Errorf("cluster %q not found: %s; %s", name, left, m.Creates(name))
	case len(saved) > 0:
		return errors.New(left)
	}
	return nil
}

// InMemoryError says that what a command is for needs containers, or an engine, and clusters are in memory.
type InMemoryError struct {
	// Where the clusters are.
	Where, Program string
}

// Error implements error.
func (e *InMemoryError) Error() string {
	return fmt.Sprintf("the clusters of %[1]s are in memory, and have neither containers nor engines; what happens in them is in \"%[2]s plane logs\", and "+
		"for clusters of containers, delete them, run \"%[2]s plane down\", and create others", e.Where, e.Program)
}

// CheckContainers refuses clusters in memory, once the management plane was observed: *InMemoryError.
func (m *ManagementPlane) CheckContainers() error {
	if !m.InMemory {
		return nil
	}
	return &InMemoryError{Where: m.ManagementCluster(), Program: m.Program}
}

// ErrNoContainers is the error of OwnerOf for a cluster that exists without an owner ID.
var ErrNoContainers = errors.New("has no containers yet")

// OwnerOf a cluster, from the management plane or, where that does not answer,
// answers with an error or knows no such cluster, from memory: logs are needed
// most where something is broken.
func (m *ManagementPlane) OwnerOf(ctx context.Context, name string) (identity.Owner, error) {
	plane, err := m.ReachPlane(ctx)
	if err != nil {
		return identity.Owner{}, err
	}
	var notRead error
	var present management.Present
	if plane.Answers {
		if present, notRead = management.Read(ctx, m.Client, management.Namespace, name); present.OwnerID != "" {
			return identity.Owner{Namespace: management.Namespace, Cluster: name, ID: present.OwnerID}, nil
		}
	}
	saved, _ := m.Records.Get(name)
	known := saved.OwnerID != ""
	switch {
	case !known && notRead != nil:
		return identity.Owner{}, notRead
	case !known && present.Exists:
		return identity.Owner{}, fmt.Errorf("cluster %q %w; see \"%s status %s\"", name, ErrNoContainers, m.Program, name)
	case !known && plane.Answers:
		return identity.Owner{}, m.NotFound(ctx, name)
	case !known:
		return identity.Owner{}, m.PlaneSilent(ctx, plane, name)
	}
	return identity.Owner{Namespace: management.Namespace, Cluster: name, ID: saved.OwnerID}, nil
}

// BeingDeleted is the error of a command for a cluster that is being deleted.
func (a *App) BeingDeleted(name string) error {
	return fmt.Errorf("cluster %q is being deleted; wait for it with \"%s down %s\"", name, a.Program, name)
}
