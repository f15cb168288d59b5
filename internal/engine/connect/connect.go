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

// Package connect chooses a container engine and connects to it.
//
// Where the user names an engine, that one is used or an error says why not.
// Otherwise the endpoint is found the way the docker command finds it:
// DOCKER_HOST with its TLS variables, then DOCKER_CONTEXT, then the current
// context of the Docker configuration, then the default sockets. An endpoint
// that the user named is never replaced by another.
package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
)

// The engines that can be asked for.
const (
	// Auto takes the first engine that answers.
	Auto = "auto"
	// Docker speaks Docker's API, which Podman serves as well.
	Docker = "docker"
)

// Names lists the engines that can be asked for, for a flag's help.
func Names() []string { return []string{Auto, Docker} }

// defaultTimeout is how long one endpoint may take to answer. A first
// connection over ssh takes a few seconds.
const defaultTimeout = 15 * time.Second

// Options says what to connect to. The zero value finds an engine by itself.
type Options struct {
	// Engine is one of Names; empty = Auto.
	Engine string
	// Getenv reads the environment; nil = os.Getenv.
	Getenv func(string) string
	// Sockets are tried in turn where nothing names an endpoint; nil =
	// Docker's own, then that of rootless Docker.
	Sockets []string
	// Timeout for each endpoint to answer; 0 = 15 seconds.
	Timeout time.Duration
}

// Attempt is an endpoint that was tried in vain.
type Attempt struct {
	// Endpoint as named, and By what: "DOCKER_HOST", "context NAME",
	// "default socket".
	Endpoint, By string
	// Err says why not, and the remedy.
	Err error
}

// Error says that no engine could be reached. It is of the kinds of its
// attempts: engine.ErrUnavailable, engine.ErrUnauthorized.
type Error struct {
	Attempts []Attempt
}

// Error implements error.
func (e *Error) Error() string {
	texts := make([]string, 0, len(e.Attempts))
	for _, attempt := range e.Attempts {
		texts = append(texts, fmt.Sprintf("%s: %v", attempt.By, attempt.Err))
	}
	return "no container engine can be reached: " + strings.Join(texts, "; ")
}

// Unwrap returns the errors of the attempts.
func (e *Error) Unwrap() []error {
	out := make([]error, 0, len(e.Attempts))
	for _, attempt := range e.Attempts {
		out = append(out, attempt.Err)
	}
	return out
}

// Connect returns a connection to an engine that has answered. An unknown
// engine: engine.ErrInvalid. No engine reached: an *Error.
func Connect(ctx context.Context, options Options) (engine.Engine, error) {
	if options.Getenv == nil {
		options.Getenv = os.Getenv
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	switch options.Engine {
	case "", Auto, Docker:
		return connectDocker(ctx, options)
	default:
		return nil, fmt.Errorf("unknown engine %q, want one of %s: %w",
			options.Engine, strings.Join(Names(), ", "), engine.ErrInvalid)
	}
}

func connectDocker(ctx context.Context, options Options) (engine.Engine, error) {
	candidates, err := dockerEndpoints(options)
	if err != nil {
		return nil, err
	}
	var failed Error
	for _, candidate := range candidates {
		eng, err := open(ctx, candidate, options.Timeout)
		if err == nil {
			return eng, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failed.Attempts = append(failed.Attempts, Attempt{Endpoint: redacted(candidate.host), By: candidate.by, Err: err})
	}
	return nil, &failed
}

func open(ctx context.Context, candidate endpoint, timeout time.Duration) (engine.Engine, error) {
	clientOptions, err := candidate.endpoint().ClientOpts()
	if err != nil {
		return nil, fmt.Errorf("use the Docker endpoint %s: %w: %w", redacted(candidate.host), err, engine.ErrInvalid)
	}
	eng, err := docker.New(candidate.host, clientOptions...)
	if err != nil {
		return nil, fmt.Errorf("use the Docker endpoint %s: %w: %w", redacted(candidate.host), err, engine.ErrInvalid)
	}
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := eng.Info(asking); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: no answer within %s; see that it runs and that nothing blocks the way: %w", err, timeout, engine.ErrUnavailable)
		}
		return nil, errors.Join(err, eng.Close())
	}
	return eng, nil
}
