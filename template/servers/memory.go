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
	"context"

	"github.com/capi-samples/cluster-api-provider-container/contract/memory"
)

// Memory lets servers boot in memory, so that a Cluster of them becomes Available. Real servers do so by themselves.
type Memory struct {
	Servers
	Clusters *memory.Clusters
}

// Create implements Servers.
func (m Memory) Create(ctx context.Context, server Server) error {
	port, err := m.Clusters.Create(ctx, server.Name, server.UserData)
	if err != nil {
		return err
	}
	if port != 0 {
		server.Address, server.Port = m.Clusters.Host(), port
	}
	return m.Servers.Create(ctx, server)
}

// Delete implements Servers.
func (m Memory) Delete(ctx context.Context, name string) error {
	if err := m.Clusters.Delete(ctx, name); err != nil {
		return err
	}
	return m.Servers.Delete(ctx, name)
}
