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

package enginetest

import (
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func attachmentChecks() map[string]check {
	return map[string]check{
		"connect and disconnect": {
			contract: "ConnectNetwork succeeds if it is attached, DisconnectNetwork if it is not",
			run:      connectsAndDisconnects,
		},
		"back where it was": {
			contract: "a container taken off its network can be put back at its address",
			run: func(t *testing.T, c *fixture) {
				static := address(firstSubnet(t, c.network(t, "net")), 5)
				c.run(t, c.at("a", static))
				wantNoError(t, "disconnect", c.DisconnectNetwork(t.Context(), c.named("net"), c.named("a")))
				if _, ok := c.inspect(t, c.named("a")).Networks[c.named("net")]; ok {
					t.Error("still on the network after disconnect")
				}
				wantNoError(t, "connect", c.ConnectNetwork(t.Context(), c.named("net"), c.named("a"),
					engine.Attachment{Network: c.named("net"), Addresses: c.at("a", static).Attachment.Addresses}))
				c.wantAddresses(t, "a", static)
			},
		},
		"address taken": {
			contract: "Address taken: a ConflictError of ResourceAddress",
			run: func(t *testing.T, c *fixture) {
				static := address(firstSubnet(t, c.network(t, "net")), 6)
				c.run(t, c.at("holder", static))
				c.run(t, c.spec("a"))
				err := c.ConnectNetwork(t.Context(), c.named("net"), c.named("a"), c.at("a", static).Attachment)
				wantTaken(t, "connect with a taken address", err, engine.ResourceAddress, static.String())
			},
		},
		"absent": {
			contract: "Network or container absent: ErrNotFound; disconnect succeeds",
			run: func(t *testing.T, c *fixture) {
				c.network(t, "net")
				c.create(t, c.spec("a"))
				ctx := t.Context()
				wantKind(t, "absent network", c.ConnectNetwork(ctx, c.named("absent"), c.named("a"), engine.Attachment{}), engine.ErrNotFound)
				wantKind(t, "absent container", c.ConnectNetwork(ctx, c.named("net"), c.named("absent"), engine.Attachment{}), engine.ErrNotFound)
				wantNoError(t, "disconnect from an absent network", c.DisconnectNetwork(ctx, c.named("absent"), c.named("a")))
				wantNoError(t, "disconnect an absent container", c.DisconnectNetwork(ctx, c.named("net"), c.named("absent")))
			},
		},
	}
}

func connectsAndDisconnects(t *testing.T, c *fixture) {
	subnet := firstSubnet(t, c.network(t, "net"))
	c.network(t, "second")
	ctx := t.Context()
	for suffix, running := range map[string]bool{"running": true, "stopped": false} {
		spec := c.spec(suffix)
		spec.Attachment.Network = c.named("second")
		name := spec.Name
		c.create(t, spec)
		if running {
			c.start(t, name)
		}
		static := address(subnet, 20+len(suffix))
		if running {
			static = static.Next()
		}
		attachment := c.at(suffix, static).Attachment
		wantNoError(t, suffix+": connect", c.ConnectNetwork(ctx, c.named("net"), name, attachment))
		wantNoError(t, suffix+": connect again", c.ConnectNetwork(ctx, c.named("net"), name, attachment))
		c.start(t, name)
		c.wantAddresses(t, suffix, static)
		wantNoError(t, suffix+": disconnect", c.DisconnectNetwork(ctx, c.named("net"), name))
		wantNoError(t, suffix+": disconnect again", c.DisconnectNetwork(ctx, c.named("net"), name))
		c.wantStatus(t, suffix+": after disconnect", name, engine.StatusRunning)
	}
}
