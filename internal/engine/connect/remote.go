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

package connect

import (
	"context"
	"fmt"
	"net"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
)

// Dial makes a connection to an engine's API, which is secured already.
type Dial func(ctx context.Context) (net.Conn, error)

// Remote returns an engine whose connections dial makes, with the first call that succeeds. Until
// then each call tries again. Docker and Podman are distinguished by their response, and Podman is spoken to in its
// own language. The endpoint is what messages show.
func Remote(endpoint string, dial Dial) engine.Engine {
	return newLazy(func(ctx context.Context) (engine.Engine, error) { return openRemote(ctx, endpoint, dial) })
}

func openRemote(ctx context.Context, endpoint string, dial Dial) (engine.Engine, error) {
	eng, err := docker.NewOver(endpoint, dial)
	if err != nil {
		return nil, engine.WithKind(fmt.Errorf("use endpoint %s: %w", endpoint, err), engine.ErrInvalid)
	}
	servedByPodman := false
	err = answering(ctx, eng, defaultTimeout, func(ctx context.Context) error {
		servedByPodman, err = eng.ServedByPodman(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	const by = "endpoint of the ContainerEngine"
	if !servedByPodman {
		return &chosen{Engine: eng, kinds: kinds(), by: by}, nil
	}
	_ = eng.Close() // There is nothing to wait for.
	native, err := podman.New(podman.Options{URI: endpoint, Dial: dial})
	if err != nil {
		return nil, err
	}
	if err := answering(ctx, native, defaultTimeout, native.Ping); err != nil {
		return nil, err
	}
	return &chosen{Engine: native, kinds: kinds(), by: by}, nil
}
