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
	"context"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/records"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// ManagementPlane is the management plane of an engine, and what is recorded of its clusters.
type ManagementPlane struct {
	*App
	Records *records.Store

	Plane Plane
	// Client of the management plane; nil until it answers.
	Client client.WithWatch
	// PlaneID of the one that is in use; empty until there is one.
	PlaneID string
	// InMemory: clusters of the one that was observed last are in memory.
	InMemory bool
	// ManagementFile has the kubeconfig of the management plane; empty where it could not
	// be saved.
	ManagementFile string
}

// Use the management plane behind the kubeconfig from now on.
func (m *ManagementPlane) Use(kubeconfig []byte) error {
	c, err := m.NewClient(kubeconfig)
	if err != nil {
		return err
	}
	m.Client = c
	path, err := m.Records.WriteManagementKubeconfig(kubeconfig)
	if err == nil {
		m.ManagementFile = path
	}
	m.Records.Unsaved(err)
	return nil
}

// ReachPlane uses the management plane from now on if it answers, and returns its state.
func (m *ManagementPlane) ReachPlane(ctx context.Context) (plane.State, error) {
	found, err := m.Plane.State(ctx)
	m.InMemory = found.InMemory
	if err != nil || !found.Answers {
		return found, err
	}
	return found, m.Use(found.Kubeconfig)
}

// Read what the management plane has of a cluster, once it answers.
func (m *ManagementPlane) Read(ctx context.Context, name string) (present management.Present, err error) {
	err = m.RetryTransient(ctx, func() (err error) {
		present, err = management.Read(ctx, m.Client, management.Namespace, name)
		return err
	})
	return present, err
}

// PlaneReplaced reports whether the management plane that is in use is gone, because
// another process removed it when it had no Cluster. A command then begins again.
func (m *ManagementPlane) PlaneReplaced(ctx context.Context) bool {
	if m.PlaneID == "" {
		return false
	}
	state, err := m.Plane.State(ctx)
	return err == nil && state.ID != m.PlaneID
}

// Transient reports whether an error of the management plane's API may be
// over soon: it restarts, a webhook of it is not up yet, or a connection ended within an
// answer, such as while its container is connected to the network of another cluster.
func Transient(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsTimeout(err) || errors.Is(err, io.ErrUnexpectedEOF)
}

// RetryTransient calls f until it succeeds, fails for good, or patience is over, or the
// management plane is another one.
func (m *ManagementPlane) RetryTransient(ctx context.Context, f func() error) error {
	const patience = 30 * time.Second
	deadline := m.Now().Add(patience)
	for {
		err := f()
		if err == nil || !Transient(err) || m.Now().After(deadline) || m.PlaneReplaced(ctx) {
			return err
		}
		if ended := m.Pause(ctx); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// KnownToPlane is what the management plane has, and which clusters were moved away from it.
func (m *ManagementPlane) KnownToPlane(ctx context.Context) (inventory.Manager, error) {
	known := inventory.Manager{Plane: true, ID: m.PlaneID}
	err := m.RetryTransient(ctx, func() error { return known.Describe(ctx, m.Client) })
	return known, err
}

// SaveOwner saves that the management plane has the cluster of an owner ID.
func (m *ManagementPlane) SaveOwner(ctx context.Context, name, ownerID string) (state.Cluster, error) {
	known, err := m.KnownToPlane(ctx)
	if err != nil {
		return state.Cluster{}, err
	}
	return m.Records.SaveOwner(ctx, name, ownerID, known)
}

// KeptBecause says why the containers of a recorded cluster without objects are kept; empty:
// the management plane that had it says that it was not moved.
func (m *ManagementPlane) KeptBecause(ctx context.Context, record state.Cluster) (string, error) {
	if m.Client == nil {
		return records.Of(record).KeptBecause(nil), nil
	}
	known, err := m.KnownToPlane(ctx)
	if err != nil {
		return "", err
	}
	return records.Of(record).Update(known).KeptBecause([]string{m.PlaneID}), nil
}

// PrintTroubles with their remedies.
func (a *App) PrintTroubles(troubles []management.Trouble) {
	for _, trouble := range troubles {
		a.Printf("\n%s: %s: %s\n  remedy: %s", trouble.Object, trouble.Reason, management.OneLine(trouble.Message), trouble.Remedy)
	}
}
