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

// Package servers is the infrastructure. Replace the Fake with a client of your API; the controllers
// need nothing else.
package servers

import (
	"context"
	"errors"
)

// ErrNotFound means that there is no such server.
var ErrNotFound = errors.New("server not found")

// Server is a machine of the infrastructure.
type Server struct {
	// Name is unique. It is derived from the object, so that the server is found again by it.
	Name string
	Size string
	// UserData is the bootstrap data, which has secrets.
	UserData []byte
	// Port of a load balancer, which the infrastructure may change; servers have none.
	Port int32
	// Address is set by the infrastructure.
	Address string
}

// Servers is the API of the infrastructure.
type Servers interface {
	// Create creates a server. If it exists, that is no error.
	Create(ctx context.Context, server Server) error
	// Get returns a server, or ErrNotFound.
	Get(ctx context.Context, name string) (Server, error)
	// Delete deletes a server. If it does not exist, that is no error.
	Delete(ctx context.Context, name string) error
}
