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

package servers

import (
	"cmp"
	"context"
	"fmt"
	"sync"
)

// Fake has servers in memory.
type Fake struct {
	mutex   sync.Mutex
	servers map[string]Server
	created int
}

var _ Servers = &Fake{}

// NewFake has no servers.
func NewFake() *Fake { return &Fake{servers: map[string]Server{}} }

// Create implements Servers.
func (f *Fake) Create(_ context.Context, server Server) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if _, found := f.servers[server.Name]; !found {
		f.created++
		server.Address = cmp.Or(server.Address, fmt.Sprintf("10.0.%d.%d", f.created/256, f.created%256))
		f.servers[server.Name] = server
	}
	return nil
}

// Get implements Servers.
func (f *Fake) Get(_ context.Context, name string) (Server, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	server, found := f.servers[name]
	if !found {
		return Server{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	return server, nil
}

// Delete implements Servers.
func (f *Fake) Delete(_ context.Context, name string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.servers, name)
	return nil
}
