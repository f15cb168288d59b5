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

package hostnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// InUse reports whether a process of this host listens on a port. A port that this process may not
// listen on for another reason is not known to be in use.
func InUse(ctx context.Context, protocol string, address netip.AddrPort) bool {
	var config net.ListenConfig
	if protocol == "udp" {
		connection, err := config.ListenPacket(ctx, protocol, address.String())
		if err == nil {
			_ = connection.Close()
		}
		return errors.Is(err, syscall.EADDRINUSE)
	}
	listener, err := config.Listen(ctx, protocol, address.String())
	if err == nil {
		_ = listener.Close()
	}
	return errors.Is(err, syscall.EADDRINUSE)
}
