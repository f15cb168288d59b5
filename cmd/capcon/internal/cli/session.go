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
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/tunnel"
)

// namespace of the clusters in the management plane. One user has one plane:
// a second level of names would only be typing.
const namespace = "default"

// session is a command's connection to one engine and its management plane.
type session struct {
	*app
	engine engine.Engine
	info   engine.Info
	plane  Plane
	// state of this engine, below the root of all.
	state     state.Directory
	stateRoot string
	// managementFile has the kubeconfig of the management plane; empty where it could not
	// be saved.
	managementFile string
	// client of the management plane; nil until it answers.
	client client.WithWatch
	// planeID is the plane's that is in use; empty until there is one.
	planeID string
	// trace of the command; nil where none was asked for.
	trace *tracing
}

// connect to the engine. The caller closes the session.
func (a *app) connect(ctx context.Context) (*session, error) {
	root, err := state.Root(a.Getenv)
	if err != nil {
		return nil, err //nolint:wrapcheck // It says what was looked for.
	}
	e, err := a.Connect(ctx, a.engineName)
	if err != nil {
		return nil, err
	}
	info, err := e.Info(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("get engine info: %w", err), e.Close())
	}
	a.connected = fmt.Sprintf("%s %s at %s", info.Name, info.Version, info.Endpoint)
	if plane.NeedsTunnels(info) {
		a.tunnels = tunnel.New(ctx, e)
	}
	s := &session{app: a, engine: e, info: info, state: state.For(root, info.Name, info.ID), stateRoot: root}
	if err := s.checkPassedOver(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	s.plane = s.planeNamed(plane.DefaultName, s.state.ManagementKubeconfig())
	return s, nil
}

// onEngine makes the RunE of a command that works in a session.
func onEngine(
	connect func(context.Context) (*session, error), run func(ctx context.Context, s *session, args []string) error,
) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		s, err := connect(command.Context())
		if err != nil {
			return err
		}
		defer s.close()
		return s.explainVersion(run(command.Context(), s, args))
	}
}

// explainVersion says what is wrong where the management plane does not serve the version
// of a kind that this program reads.
func (s *session) explainVersion(err error) error {
	if !meta.IsNoMatchError(err) {
		return err
	}
	return fmt.Errorf("the management plane has an earlier version than capcon; upgrade it with \"%s plane up\": %w", s.Program, err)
}

// oneCluster checks that the arguments are the name of one cluster.
func (a *app) oneCluster(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return a.nameMissing("use the name of one cluster")
	}
	if err := cobra.ExactArgs(1)(command, args); err != nil {
		return err
	}
	return input.Refuse(input.CheckName(args[0])...)
}

// connectLocal connects to an engine of this host, and refuses another: the local
// registry is used through its port.
func (a *app) connectLocal(ctx context.Context) (*session, error) {
	s, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	if plane.IsRemote(s.info) {
		s.close()
		return nil, fmt.Errorf("%s is on another host, where the port of the local registry is not reachable; run the command there", s.connected)
	}
	return s, nil
}

// planeNamed is the management plane whose container has the name. Its last kubeconfig may
// be nil.
func (s *session) planeNamed(name string, last []byte) Plane {
	return s.Plane(s.engine, plane.Options{
		Name: name, EngineSocket: s.engineSocket, Tunnels: s.tunnels, Info: s.info, LastKubeconfig: last,
	})
}

// close the session. The process ends soon: there is nothing to do about an
// error.
func (s *session) close() { _ = s.engine.Close() }

// use the management plane behind the kubeconfig from now on.
func (s *session) use(kubeconfig []byte) error {
	c, err := s.Client(kubeconfig)
	if err != nil {
		return err
	}
	s.client = c
	path, err := s.state.WriteManagementKubeconfig(kubeconfig)
	if err == nil {
		s.managementFile = path
	}
	s.unsaved(err)
	return nil
}

// reachPlane uses the management plane from now on if it answers, and returns its state.
func (s *session) reachPlane(ctx context.Context) (plane.State, error) {
	found, err := s.plane.State(ctx)
	if err != nil || !found.Answers {
		return found, err
	}
	return found, s.use(found.Kubeconfig)
}

// read what the management plane has of a cluster, once it answers.
func (s *session) read(ctx context.Context, name string) (present management.Present, err error) {
	err = s.persist(ctx, func() (err error) {
		present, err = management.Read(ctx, s.client, namespace, name)
		return err
	})
	return present, err
}

// replaced reports whether the management plane that is in use is gone, because
// another process removed it when it had no Cluster. A command then begins again.
func (s *session) replaced(ctx context.Context) bool {
	if s.planeID == "" {
		return false
	}
	state, err := s.plane.State(ctx)
	return err == nil && state.ID != s.planeID
}

// transient reports whether an error of the management plane's API may be
// over soon: it restarts, or a webhook of it is not up yet.
func transient(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsTimeout(err)
}

// persist calls f until it succeeds, fails for good, or patience is over, or the
// management plane is another one.
func (s *session) persist(ctx context.Context, f func() error) error {
	const patience = 30 * time.Second
	deadline := s.Now().Add(patience)
	for {
		err := f()
		if err == nil || !transient(err) || s.Now().After(deadline) || s.replaced(ctx) {
			return err
		}
		if ended := s.pause(ctx); ended != nil {
			return errors.Join(ended, err)
		}
	}
}
