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

package loadbalancer_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
)

const testImage = "localhost/haproxy:test"

var testOwner = identity.Owner{Namespace: "default", Cluster: "demo", ID: "one"}

// newEngine returns an engine with network and image, on which containers run haproxy.
func newEngine(t *testing.T) (*simulated.Engine, *simulatedhaproxy.Processes) {
	t.Helper()
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{testImage}}, nil)
	must.Get(network.Ensure(t.Context(), eng, network.Request{Subnets: []netip.Prefix{netip.MustParsePrefix("10.7.0.0/24")}}))(t)
	return eng, simulatedhaproxy.Run(eng)
}

func spec() loadbalancer.Spec {
	return loadbalancer.Spec{
		Owner: testOwner, Image: testImage, Network: network.DefaultName, HostPorts: map[uint16]uint16{6443: 0}, Config: controlPlane(6443, nil),
	}
}

// machines are control planes named by their letters.
func machines(letters string) []loadbalancer.Machine {
	var out []loadbalancer.Machine
	for _, letter := range letters {
		out = append(out, loadbalancer.Machine{
			Container: string(letter), Address: netip.AddrFrom4([4]byte{10, 7, 0, byte(letter)}), Port: 6443,
		})
	}
	return out
}

func config(letters string) haproxy.Config {
	return controlPlane(6443, loadbalancer.Backends(machines(letters), loadbalancer.State{}))
}

// ensured is a load balancer that runs.
func ensured(t *testing.T) (*simulated.Engine, *simulatedhaproxy.Processes, loadbalancer.State) {
	t.Helper()
	eng, p := newEngine(t)
	state := must.Get(ensure(t.Context(), eng, spec()))(t)
	return eng, p, state
}

// ensure is Ensure of what is there.
func ensure(ctx context.Context, eng network.Engine, spec loadbalancer.Spec) (loadbalancer.State, error) {
	existing, err := loadbalancer.Inspect(ctx, eng, spec.Name())
	if err != nil {
		return loadbalancer.State{}, err
	}
	return loadbalancer.Ensure(ctx, eng, spec, existing)
}

// synchronize is Sync of what is there.
func synchronize(ctx context.Context, eng engine.Engine, name string, config haproxy.Config) (loadbalancer.State, error) {
	state, err := loadbalancer.Observe(ctx, eng, name)
	if err != nil {
		return loadbalancer.State{}, err
	}
	return loadbalancer.Sync(ctx, eng, state, config)
}

func controlPlane(port uint16, backends []haproxy.Backend) haproxy.Config {
	return haproxy.Config{Frontends: []haproxy.Frontend{haproxy.ControlPlane(port, backends)}}
}
