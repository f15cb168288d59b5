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

package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Another Docker context leads to another engine of the same name, which has
// nothing of the cluster: that must not delete its saved data.
func TestEnginesOfOneNameShareNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	here, planeHere := w.engine, w.plane
	w.engine, w.plane = simulated.New(simulated.WithInfo(engine.Info{ID: "another"})), &fakePlane{}
	for _, command := range [][]string{{"down", "--all"}, {"gc", "--yes"}} {
		if code, out, errs := w.run(command...); code != 0 {
			t.Fatalf("%v on the other engine ended with %d:\n%s%s", command, code, out, errs)
		}
	}
	for _, command := range [][]string{{"down", "demo"}, {"status", "demo"}, {"kubeconfig", "demo"}, {"logs", "demo"}, {"list", "demo"}, {"forget", "demo"}} {
		code, out, errs := w.run(command...)
		if code != 1 {
			t.Errorf("%v on the other engine ended with %d:\n%s%s", command, code, out, errs)
		}
		mustContain(t, errs, `state of cluster "demo" is unknown: it was created on simulated at simulated://`, "--engine")
	}

	// Without the management plane only what is saved leads to them.
	w.engine, w.plane = here, planeHere
	w.plane.state = plane.State{}
	code, out, errs := w.run("kubeconfig", "demo")
	if code != 0 || !strings.Contains(out, "server: https://127.0.0.1:40123\n") {
		t.Errorf("kubeconfig ended with %d:\n%s%s", code, out, errs)
	}
	if code, out, errs := w.run("down", "demo", "--force"); code != 0 {
		t.Errorf("down ended with %d:\n%s%s", code, out, errs)
	}
	if left := containerNames(t, w); slices.Contains(left, "demo-a-1234") {
		t.Errorf("The containers of the cluster were forgotten; left are %v", left)
	}
}

// Ports that an engine on another host publishes are reached through tunnels, but for the
// local registry's.
func TestEngineOfAnotherHost(t *testing.T) {
	t.Parallel()
	const endpoint = "ssh://me@build.example.org"
	w := newWorld(t)
	if code, _, errs := w.run("tunnel"); code != 1 || !strings.Contains(errs, "is on this host") || w.options.Tunnels != nil {
		t.Errorf("tunnel to an engine of this host: exit code %d, %s", code, errs)
	}
	w.engine = simulated.New(simulated.WithInfo(engine.Info{Name: "docker", Endpoint: endpoint}))
	code, _, errs := w.run("registry", "up")
	if code != 1 || len(w.engine.MutatingCalls()) > 0 {
		t.Errorf("registry up: exit code %d, calls %v", code, w.engine.MutatingCalls())
	}
	mustContain(t, errs, endpoint+" is on another host", "run the command there")
	_, out, _ := w.run("doctor")
	mustContain(t, squeeze(out), "EngineRemote", `run "capcon tunnel"`)
	if code, _, errs := w.run("tunnel"); code != 1 {
		t.Errorf("tunnel without a management cluster: exit code %d", code)
	} else {
		mustContain(t, errs, "no management cluster found", "capcon up NAME")
	}
}

// TestTunnel: the port that the kubeconfig names leads to the endpoint.
func TestTunnel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.engine = simulated.New(simulated.WithInfo(engine.Info{Name: "docker", Endpoint: "tcp://192.0.2.1:2376"}))
	addImages(w.engine)
	w.controllers = w.become
	code, out, errs := w.run("up", "demo", "--cni", "none")
	if code != 0 || w.options.Tunnels == nil {
		t.Fatalf("up: exit code %d, tunnels %v\n%s%s", code, w.options.Tunnels, out, errs)
	}
	mustContain(t, out, "capcon tunnel")
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	must.Succeed(t, listener.Close())
	cluster := &infrav1.ContainerCluster{}
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo"}, cluster))
	cluster.Spec.LoadBalancer.HostPort = int32(port)
	cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "172.18.0.9", Port: 6443}
	must.Succeed(t, w.client.Update(t.Context(), cluster))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	relayed := make(chan []string, 1)
	w.engine.HandleExec(func(_ string, command engine.Command) (engine.Output, error) {
		relayed <- command.Args
		_, err := io.Copy(io.Discard, command.Stdin)
		return engine.Output{}, err
	})
	must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{Name: plane.DefaultName, Image: "localhost/capcon/plane:dev"}))(t)
	must.Succeed(t, w.engine.StartContainer(t.Context(), plane.DefaultName))
	w.controllers = sync.OnceFunc(func() {
		connection := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String()))(t)
		defer connection.Close()
		if diff := cmp.Diff([]string{"/usr/local/bin/capcon-plane", "relay", "172.18.0.9:6443"}, <-relayed); diff != "" {
			t.Errorf("command in the management plane's container: -want, +got:\n%s", diff)
		}
		cancel()
	})
	code, out, errs = w.runIn(ctx, "tunnel")
	if code != 0 {
		t.Errorf("tunnel: exit code %d\n%s", code, errs)
	}
	mustContain(t, out, fmt.Sprintf("127.0.0.1:%d  cluster demo", port))
}

func TestEngineSocketIsThePlanes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("status", "--engine-socket", "/run/user/501/podman/podman.sock")
	if got := w.options.EngineSocket; !strings.HasSuffix(got, "/501/podman/podman.sock") {
		t.Errorf("socket of the management plane: got %q", got)
	}
}

// Reading a node image costs a container, so what it says is saved.
func TestNodeImageIsReadOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for want := range 2 {
		w.engine.ResetJournal()
		w.controllers = w.become
		if code, _, errs := w.run("up", "demo"); code != 0 {
			t.Fatalf("up: exit code %d: %s", code, errs)
		}
		isProbe := func(call simulated.Call) bool {
			return call.Method == "CreateContainer" && strings.HasPrefix(call.Name, "capcon-image-probe-")
		}
		if read := slices.ContainsFunc(w.engine.Journal(), isProbe); read != (want == 0) {
			t.Errorf("call %d of up reads the image: %v", want+1, read)
		}
		w.controllers = w.vanish
		if code, _, errs := w.run("down", "demo", "--keep-plane"); code != 0 {
			t.Fatalf("down: exit code %d: %s", code, errs)
		}
	}
}
