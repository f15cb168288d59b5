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
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/tunnel"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestTunnelOutlivesContainer: an upgrade replaces the container after a tunnel was opened
// to look at it, and the new one has the same port.
func TestTunnelOutlivesContainer(t *testing.T) {
	t.Parallel()
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	server := netip.MustParseAddrPort(listener.Addr().String())
	must.Succeed(t, listener.Close())
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{testImage}}, nil)
	kubeconfig := fmt.Sprintf("clusters: [{name: a, cluster: {server: 'https://%s'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n", server)
	eng.OnStart(func(name string) {
		must.Succeed(t, eng.WriteFile(name, StateDir+"/"+AdminKubeconfig, []byte(kubeconfig)))
	})
	relayed := make(chan []string, 1)
	eng.HandleExec(func(_ string, command engine.Command) (engine.Output, error) {
		relayed <- command.Args
		_, err := io.Copy(io.Discard, command.Stdin)
		return engine.Output{}, err
	})
	p := New(eng, Options{Tunnels: tunnel.New(t.Context(), eng)})
	for range 2 {
		id := must.Get(eng.CreateContainer(t.Context(), engine.Spec{Name: DefaultName, Image: testImage}))(t)
		must.Succeed(t, eng.StartContainer(t.Context(), id))
		must.Get(p.downloadKubeconfig(t.Context(), id))(t)
		connection := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", server.String()))(t)
		if _, err := connection.Write([]byte("hello")); err != nil {
			t.Error(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, connection)
		}()
		select {
		case got := <-relayed:
			if diff := cmp.Diff([]string{program, "relay", "127.0.0.1:6443"}, got); diff != "" {
				t.Errorf("command: -want, +got:\n%s", diff)
			}
		case <-ended:
			t.Error("the connection ended without a command in the container")
		}
		must.Succeed(t, connection.Close())
		<-ended
		must.Succeed(t, eng.RemoveContainer(t.Context(), id))
	}
}
