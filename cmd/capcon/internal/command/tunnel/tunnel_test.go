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
	"strings"
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
	forwards(t, w, "172.18.0.9")
	if w.Options.Tunnels == nil {
		t.Error("the plane has no tunnels")
	}
}

// In memory, the endpoint is in the container of the management plane, on any engine.
func TestTunnelInMemory(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	commandtest.Contains(t, w.MustFail("tunnel"), "is on this host, where kubeconfigs work without a tunnel")
	w.Plane.Current = commandtest.Running("plane")
	w.Plane.Current.Image, w.Plane.Current.InMemory = commandtest.PlaneImage, true
	forwards(t, w, "127.0.0.1")
}

// A port that another process has leads elsewhere: where only a tunnel leads to clusters, that is reported, once.
func TestTunnelPortInUse(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Plane.Current = commandtest.Running("plane")
	w.Plane.Current.InMemory = true
	used := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer used.Close()
	port := netip.MustParseAddrPort(used.Addr().String()).Port()
	cluster := commandtest.ContainerCluster("demo", "owner")
	cluster.Spec.LoadBalancer.HostPort = int32(port)
	cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "127.0.0.1", Port: int32(port)}
	w.Create(cluster)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := 0
	w.Controllers = func() {
		if looks++; looks == 3 {
			cancel()
		}
	}
	_, _, errs := w.RunIn(ctx, "tunnel")
	if want := fmt.Sprintf("127.0.0.1:%d is in use by another process", port); strings.Count(errs, want) != 1 {
		t.Errorf("want %q once in:\n%s", want, errs)
	}
}

// forwards the port of the cluster demo, which is created, to an endpoint on an address.
func forwards(t *testing.T, w *commandtest.World, address string) {
	t.Helper()
	w.Controllers = w.Become
	commandtest.Contains(t, w.MustRun("up", "demo", "--cni", "none"), "capcon tunnel")
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	must.Succeed(t, listener.Close())
	commandtest.Update(w, "demo", &infrav1.ContainerCluster{}, func(cluster *infrav1.ContainerCluster) {
		cluster.Spec.LoadBalancer.HostPort = int32(port)
		cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: address, Port: 6443}
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
		if diff := cmp.Diff([]string{"/usr/local/bin/capcon-plane", "relay", address + ":6443"}, <-relayed); diff != "" {
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
