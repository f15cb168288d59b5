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

package tunnel_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestTunnel: the port that the kubeconfig names leads to the endpoint.
func TestTunnel(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.UseEngine(simulated.New(simulated.WithInfo(engine.Info{Name: "docker", Endpoint: "tcp://192.0.2.1:2376"})))
	w.Controllers = w.Become
	commandtest.Contains(t, w.MustRun("up", "demo", "--cni", "none"), "capcon tunnel")
	if w.Options.Tunnels == nil {
		t.Fatal("the plane has no tunnels")
	}
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	must.Succeed(t, listener.Close())
	commandtest.Update(w, "demo", &infrav1.ContainerCluster{}, func(cluster *infrav1.ContainerCluster) {
		cluster.Spec.LoadBalancer.HostPort = int32(port)
		cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "172.18.0.9", Port: 6443}
	})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	relayed := make(chan []string, 1)
	w.Engine.HandleExec(func(_ string, command engine.Command) (engine.Output, error) {
		relayed <- command.Args
		_, err := io.Copy(io.Discard, command.Stdin)
		return engine.Output{}, err
	})
	must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: plane.DefaultName, Image: commandtest.PlaneImage}))(t)
	must.Succeed(t, w.Engine.StartContainer(t.Context(), plane.DefaultName))
	w.Controllers = sync.OnceFunc(func() {
		connection := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String()))(t)
		defer connection.Close()
		if diff := cmp.Diff([]string{"/usr/local/bin/capcon-plane", "relay", "172.18.0.9:6443"}, <-relayed); diff != "" {
			t.Errorf("command in the management plane's container: -want, +got:\n%s", diff)
		}
		cancel()
	})
	code, out, errs := w.RunIn(ctx, "tunnel")
	if code != 0 {
		t.Errorf("tunnel: exit code %d\n%s", code, errs)
	}
	commandtest.Contains(t, out, fmt.Sprintf("127.0.0.1:%d  cluster demo", port))
}
