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

// Package session connects a command to one engine and its management plane.
//
// App is the command line, Session the connection. Neither knows what a command does.
package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/records"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/tunnel"
)

// Session is a command's connection to one engine and its management plane.
type Session struct {
	*ManagementPlane

	// Engine; nil only after ConnectManaged.
	Engine engine.Engine
	Info   engine.Info
	// EngineName is that of the ContainerEngine that the session is on; empty = it is on the engine of the management plane.
	EngineName string
	// opened engines of ContainerEngines, and the sessions on those that responded.
	opened  []engine.Engine
	reached map[client.ObjectKey]reached
	// featureGates are those of SetFeatureGates.
	featureGates string
	// allowedEngines are those of SetAllowedEngines; empty = the management plane keeps its own.
	allowedEngines string
	// inMemory is that of SetMode.
	inMemory *bool
}

// Connect to the engine. The caller closes the session.
func (a *App) Connect(ctx context.Context) (*Session, error) {
	root, err := state.Root(a.Getenv)
	if err != nil {
		return nil, err //nolint:wrapcheck // It says what was looked for.
	}
	e, err := a.ConnectEngine(ctx)
	if err != nil {
		return nil, err
	}
	info, err := e.Info(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("get engine info: %w", err), e.Close())
	}
	a.Connected = records.Connected(info)
	if plane.NeedsTunnels(info) {
		a.Tunnels = tunnel.New(ctx, e)
	}
	store := records.Open(root, a.Program, a.Printer, e, info)
	s := &Session{Engine: e, Info: info, ManagementPlane: &ManagementPlane{App: a, Records: store}}
	if err := s.Records.CheckPassedOver(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	s.Plane = s.PlaneNamed(plane.DefaultName, s.Records.ManagementKubeconfig())
	return s, nil
}

// ConnectManaged connects to a management cluster that is not the plane of an engine, and to the engine if
// that responds: unavailable is why it does not. The caller closes the session.
func (a *App) ConnectManaged(ctx context.Context) (s *Session, unavailable, err error) {
	if s, unavailable = a.Connect(ctx); unavailable == nil {
		return s, nil, nil
	}
	root, err := state.Root(a.Getenv)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // It says what was looked for.
	}
	store := records.Open(root, a.Program, a.Printer, nil, engine.Info{})
	return &Session{ManagementPlane: &ManagementPlane{App: a, Records: store}}, unavailable, nil
}

// OnEngine makes the RunE of a command that works in a session.
func OnEngine(
	connect func(context.Context) (*Session, error), run func(ctx context.Context, s *Session, args []string) error,
) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		s, err := connect(command.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		return s.explainVersion(run(command.Context(), s, args))
	}
}

// explainVersion says what is wrong where the management plane does not serve the version
// of a kind that this program reads.
func (s *Session) explainVersion(err error) error {
	if !meta.IsNoMatchError(err) {
		return err
	}
	return fmt.Errorf("the management plane has an earlier version than capcon; upgrade it with \"%s plane up\": %w", s.Program, err)
}

// ConnectLocal connects to an engine of this host, and refuses another: the local
// registry is used through its port.
func (a *App) ConnectLocal(ctx context.Context) (*Session, error) {
	s, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if plane.IsRemote(s.Info) {
		s.Close()
		return nil, fmt.Errorf("%s is on another host, where the port of the local registry is not reachable; run the command there", s.Connected)
	}
	return s, nil
}

// Close the session. The process ends soon: there is nothing to do about an
// error.
func (s *Session) Close() {
	for _, one := range s.opened {
		_ = one.Close()
	}
	if s.Engine != nil {
		_ = s.Engine.Close()
	}
}
