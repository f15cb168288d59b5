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

// Package connect turns what a user said of an engine into a connection.
package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/docker/docker/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
)

// Options say which engine is wanted.
type Options struct {
	// Engine is "auto" or "docker"; empty means auto.
	Engine string
}

// Connect returns an engine that answers.
func Connect(ctx context.Context, options Options) (engine.Engine, error) {
	switch options.Engine {
	case "", "auto", "docker":
	default:
		return nil, fmt.Errorf("engine %q is not known: %w", options.Engine, engine.ErrInvalid)
	}
	eng, err := docker.New(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("connect to Docker: %w", err)
	}
	if _, err := eng.Info(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to Docker: %w", err), eng.Close())
	}
	return eng, nil
}
