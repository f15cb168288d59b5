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

package hostnet_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/hostnet"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestInUse(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	stream := must.Get(config.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	packets := must.Get(config.ListenPacket(t.Context(), "udp", "127.0.0.1:0"))(t)
	for protocol, address := range map[string]net.Addr{"tcp": stream.Addr(), "udp": packets.LocalAddr()} {
		if at := netip.MustParseAddrPort(address.String()); !hostnet.InUse(t.Context(), protocol, at) {
			t.Errorf("%s port %s is not in use, want it to be", protocol, at)
		}
	}
	// No interface has this address: it cannot be listened on, and no process does.
	if at := netip.MustParseAddrPort("192.0.2.1:80"); hostnet.InUse(t.Context(), "tcp", at) {
		t.Errorf("port %s is in use", at)
	}
	must.Succeed(t, stream.Close())
	must.Succeed(t, packets.Close())
}
