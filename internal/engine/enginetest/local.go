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
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// LocalHarness is that of an engine on this host, behind the Unix socket of an endpoint, which
// connect connects to through a proxy whose connections can be broken.
func LocalHarness(t *testing.T, endpoint string, connect func(uri string) (engine.Engine, error)) Harness {
	t.Helper()
	proxy := NewProxy(t, endpoint)
	return Harness{
		Processes: true,
		Connect: func(t *testing.T) engine.Engine {
			t.Helper()
			eng := must.Get(connect("unix://" + proxy.Path))(t)
			t.Cleanup(func() { _ = eng.Close() })
			return eng
		},
		FreePort:        FreeLocalPort,
		OccupyPort:      occupyPort,
		HostDirectory:   localDirectory,
		MissingHostPath: func(t *testing.T) string { return filepath.Join(t.TempDir(), "missing") },
		// Port 1 of this host: nothing listens there.
		UnreachableImage: func(*testing.T) string { return "127.0.0.1:1/unreachable:v1" },
		Interrupt:        func(*testing.T) { proxy.Interrupt() },
		Outage:           proxy.Outage,
		Requests:         proxy.Requests,
	}
}

// localDirectory makes a directory of this host with a file in it.
func localDirectory(t *testing.T, file, content string) string {
	t.Helper()
	directory := t.TempDir()
	succeed(t, "write file", os.WriteFile(filepath.Join(directory, file), []byte(content), 0o644))
	return directory
}

// LocalCDIDevice describes a CDI device on this host until the test ends, which root
// only may.
func LocalCDIDevice(t *testing.T) string {
	t.Helper()
	const directory = "/var/run/cdi"
	if os.Geteuid() != 0 {
		t.Skipf("only root writes to %s", directory)
	}
	class := fmt.Sprint("test-", rand.Uint64())
	succeed(t, "make directory", os.MkdirAll(directory, 0o755))
	specification := fmt.Sprintf(`{"cdiVersion": "0.3.0", "kind": "capcon.example/%s", "devices": [{"name": "a", "containerEdits": {
		"deviceNodes": [{"path": "/dev/nothing", "type": "c", "major": 1, "minor": 3, "permissions": "rw"}]}}]}`, class)
	file := filepath.Join(directory, class+".json")
	succeed(t, "write file", os.WriteFile(file, []byte(specification), 0o644))
	t.Cleanup(func() { _ = os.Remove(file) })
	return "capcon.example/" + class + "=a"
}

// The ports that FreeLocalPort gives: below those that Linux gives to outgoing
// connections, one of which could have a port before the test does.
const (
	firstPort = 20000
	ports     = 10000
)

// givenPorts counts from where another process' tests are not likely to be.
var givenPorts = func() *atomic.Uint32 {
	var count atomic.Uint32
	count.Store(rand.Uint32N(ports))
	return &count
}()

// FreeLocalPort finds a TCP port of 127.0.0.1 that no process listens on now, and returns
// none twice.
func FreeLocalPort(t *testing.T) uint16 {
	t.Helper()
	for range ports {
		port := uint16(firstPort + givenPorts.Add(1)%ports)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		succeed(t, "close listener", listener.Close())
		return port
	}
	t.Fatal("no port is free")
	return 0
}

// occupyPort listens on a TCP port of 127.0.0.1 until the test ends.
func occupyPort(t *testing.T) uint16 {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	succeed(t, "listen", err)
	t.Cleanup(func() { _ = listener.Close() })
	return netip.MustParseAddrPort(listener.Addr().String()).Port()
}
