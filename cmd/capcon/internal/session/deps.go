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
	"io"
	"net/netip"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engineobject"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// Streams are where a command reads and writes.
type Streams struct {
	// In is where answers, archives and the input of commands in nodes are read from.
	In       io.Reader
	Out, Err io.Writer
}

// Deps are what the commands need of the world. All are required.
type Deps struct {
	// Program is the command as the user typed it, for hints.
	Program string
	// ConnectTo the engine of that name, "auto" for the one that is there.
	ConnectTo func(ctx context.Context, name string) (engine.Engine, error)
	// OpenEngine of a ContainerEngine.
	OpenEngine engineobject.Open
	// NewPlane is the plane of an engine.
	NewPlane func(e engine.Engine, options plane.Options) Plane
	// NewClient of a kubeconfig.
	NewClient func(kubeconfig []byte) (client.WithWatch, error)
	// Getenv and LookPath are those of os and os/exec.
	Getenv   func(string) string
	LookPath func(string) (string, error)
	// Systemd runs systemctl or loginctl and returns what it prints; empty if systemd is not
	// the init of this host.
	Systemd func(ctx context.Context, name string, args ...string) string
	// HostNetworks are the address ranges that this host has routes to or name servers in.
	HostNetworks func() []input.UsedRange
	// PortInUse reports whether a process of this host listens on a port.
	PortInUse func(ctx context.Context, protocol string, address netip.AddrPort) bool
	// Size of the terminal that a stream is; 0 columns = it is none.
	Size func(stream io.Writer) (columns, rows int)
	// Interactive reports whether In and Out are a terminal, so that the user can answer.
	Interactive func() bool
	// RawTerminal passes all keys of In on, until restore is called.
	RawTerminal func() (restore func(), err error)
	// Clock of the host.
	Clock
}

// Plane is the management plane of one engine.
type Plane interface {
	// Ensure that it runs and answers. Progress is one line.
	Ensure(ctx context.Context, image string, progress func(string)) (plane.Ready, error)
	// State as it is. Nothing is started. An engine that does not answer is
	// an error, a plane that does not is a state.
	State(ctx context.Context) (plane.State, error)
	// Remove it with all it keeps, unless it has a Cluster: then it stays, and
	// these are returned, "namespace/name". It succeeds if there is none.
	Remove(ctx context.Context) (clusters []string, err error)
}
