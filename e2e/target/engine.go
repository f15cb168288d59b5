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

package target

import (
	"context"
	"fmt"
	"path"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// connectEngine returns a connection to the engine of that name: auto, docker or
// podman, where auto is Docker where it answers, or else Podman. Empty is auto.
func connectEngine(ctx context.Context, name string) (engine.Engine, engine.Info, error) {
	eng, err := connect.Connect(ctx, connect.Options{Engine: name})
	if err != nil {
		return nil, engine.Info{}, fmt.Errorf("connect to the container engine: %w", err)
	}
	info, err := eng.Info(ctx)
	if err != nil {
		_ = eng.Close()
		return nil, engine.Info{}, fmt.Errorf("get engine info: %w", err)
	}
	return eng, info, nil
}

// Socket is where the engine's socket lies on the engine's host, and where the
// provider expects it in a node of a management cluster. With Podman both are the
// directory of the socket: its service makes a new socket at each start.
type Socket struct {
	HostPath, ContainerPath string
}

// EngineSocket returns where the socket of an engine lies that a management cluster's
// nodes need: auto, docker or podman. No engine answers: an error that says what was
// tried.
func EngineSocket(ctx context.Context, name string) (Socket, error) {
	eng, info, err := connectEngine(ctx, name)
	if err != nil {
		return Socket{}, err
	}
	return socketOf(info), eng.Close()
}

// socketOf: config/docker-socket and config/podman-socket mount the container's path into
// the provider's Pod.
func socketOf(info engine.Info) Socket {
	socket := plane.EngineSocket(info)
	if info.Traits.SocketDirectory != "" {
		return Socket{HostPath: path.Dir(socket), ContainerPath: path.Dir(info.Traits.Socket)}
	}
	return Socket{HostPath: socket, ContainerPath: info.Traits.Socket}
}
