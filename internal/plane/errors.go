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

package plane

import (
	"errors"
	"fmt"
)

// ErrNotReady means that the plane did not become ready in time.
var ErrNotReady = errors.New("management plane is not ready")

// ErrPaused means that a user paused the plane's container.
var ErrPaused = errors.New("container of the management plane is paused; unpause it with \"docker unpause\" or \"podman unpause\"")

// ForeignError says that something has the plane's name and is not a plane's.
// It is neither used nor removed.
type ForeignError struct {
	// Kind is "container" or "volume".
	Kind, Name string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %q already exists and is not part of a management plane; remove or rename it", e.Kind, e.Name)
}

// ModeError says that a plane cannot have clusters of the requested kind: those that it has would be lost.
type ModeError struct {
	// InMemory: those of the plane are in memory, and others were requested. Otherwise it is the other way round.
	InMemory bool
}

// Error implements error.
func (e *ModeError) Error() string {
	has, requested := "containers", "in memory"
	if e.InMemory {
		has, requested = requested, has
	}
	return fmt.Sprintf("the clusters of the management plane are %s, and cannot be %s as long as it exists; delete them, remove it with \"capcon plane down\", and start another one", has, requested)
}

// PortTakenError says that the plane's host port is in use. It is never
// changed: kubeconfigs carry it.
type PortTakenError struct {
	Port uint16
	// Err is the engine's own error.
	Err error
}

// Error implements error.
func (e *PortTakenError) Error() string {
	return fmt.Sprintf("port %d of 127.0.0.1 is in use, but is reserved for the management plane; stop the process that listens on it, and try again", e.Port)
}

// Unwrap returns the engine's own error.
func (e *PortTakenError) Unwrap() error { return e.Err }
