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

package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

// ErrRejected says that haproxy refuses a configuration; see RejectedError.
var ErrRejected = errors.New("haproxy rejects the configuration")

// RejectedError carries what haproxy says. It matches ErrRejected.
type RejectedError struct {
	// Message is haproxy's own text.
	Message string
}

// Error implements error.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("haproxy rejects the configuration: %s", e.Message)
}

// Is reports whether target is ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

// ErrNotRunning says that the load balancer does not run, so nothing can be
// synchronised; Ensure is the remedy.
var ErrNotRunning = errors.New("load balancer does not run")

// ErrNotApplied says that the process did not take over a configuration that
// it had accepted. Calling Sync again is the remedy.
var ErrNotApplied = errors.New("load balancer did not apply its configuration")

// Sync gives the running load balancer a configuration and returns what was
// read back from the process then. Where the process and its stored file have
// the configuration already, nothing is written. Otherwise it is checked by
// haproxy first, stored, loaded without losing a connection, and counts when
// the running process says that it has it.
//
// Not running: ErrNotRunning. A configuration that cannot be rendered:
// *haproxy.InvalidError. Refused by haproxy: *RejectedError; the process and
// its file are then as they were. Not applied within five seconds:
// ErrNotApplied.
func Sync(ctx context.Context, containers engine.Containers, name string, config haproxy.Config) (State, error) {
	return State{}, errors.ErrUnsupported
}
