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

package network_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const testImage = "localhost/test:v1"

// newEngine has the image and the default network 10.7.0.0/24.
func newEngine(t *testing.T) *simulated.Engine {
	t.Helper()
	eng := simulated.New(simulated.WithSubnets(netip.MustParsePrefix("10.7.0.0/24")))
	eng.AddImage(engine.Image{Tags: []string{testImage}}, nil)
	must.Get(network.Ensure(t.Context(), eng, network.Request{Subnets: prefixes("10.7.0.0/24")}))(t)
	return eng
}

func placement(name string) network.Placement {
	owner := identity.Owner{Namespace: "default", Cluster: "demo", ID: "id"}
	return network.Placement{
		Network: network.DefaultName,
		Spec:    engine.Spec{Name: name, Image: testImage, Labels: owner.ContainerLabels(identity.RoleWorker, name)},
	}
}

func addresses(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func texts(addresses []netip.Addr) []string {
	var out []string
	for _, address := range addresses {
		out = append(out, address.String())
	}
	return out
}

func names(t *testing.T, eng *simulated.Engine) []string {
	t.Helper()
	containers := must.Get(eng.ListContainers(t.Context(), nil))(t)
	var out []string
	for _, container := range containers {
		out = append(out, container.Name)
	}
	return out
}

func TestPlace(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	var prepared []netip.Addr
	p := placement("a")
	p.Prepare = func(ctx context.Context, addresses []netip.Addr) error {
		prepared = addresses
		container, err := eng.InspectContainer(ctx, "a")
		if err != nil || container.Status != engine.StatusCreated {
			t.Errorf("prepared while %q, %v, want it created and not started", container.Status, err)
		}
		return nil
	}
	container := must.Get(network.Place(t.Context(), eng, p))(t)
	want := []netip.Addr{preferred(t, "a")}
	if container.Status != engine.StatusRunning {
		t.Errorf("container is %s, want it running", container.Status)
	}
	for what, got := range map[string][]netip.Addr{
		"prepared": prepared, "recorded": network.Addresses(container, network.DefaultName),
		"in use": container.Networks[network.DefaultName].Addresses,
	} {
		if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
			t.Errorf("address %s: -want +got:\n%s", what, diff)
		}
	}
	if _, found := p.Spec.Labels[identity.LabelAddress]; found {
		t.Error("Place changed the caller's labels")
	}
	second, err := network.Place(t.Context(), eng, placement("b"))
	if err != nil || network.Addresses(second, network.DefaultName)[0] != preferred(t, "b") {
		t.Errorf("second = %v, %v", second.Labels, err)
	}
}

// preferred is the address of a container that has the network to itself.
func preferred(t *testing.T, name string) netip.Addr {
	t.Helper()
	container := must.Get(network.Place(t.Context(), newEngine(t), placement(name)))(t)
	return network.Addresses(container, network.DefaultName)[0]
}

// Containers that are created at the same time do not see each other.
func TestPlaceSpreads(t *testing.T) {
	t.Parallel()
	names := map[netip.Addr]string{}
	for i := range 10 {
		name := fmt.Sprintf("demo-worker-%d", i)
		eng := simulated.New(simulated.WithSubnets(netip.MustParsePrefix("10.7.0.0/16")))
		eng.AddImage(engine.Image{Tags: []string{testImage}}, nil)
		must.Get(network.Ensure(t.Context(), eng, network.Request{}))(t)
		container := must.Get(network.Place(t.Context(), eng, placement(name)))(t)
		address := network.Addresses(container, network.DefaultName)[0]
		if other, found := names[address]; found {
			t.Errorf("%s and %s prefer the same address %s", other, name, address)
		}
		names[address] = name
	}
}

func TestPlaceHonorsStoppedContainers(t *testing.T) {
	t.Parallel()
	eng, first := newEngine(t), placement("a")
	first.Addresses = []netip.Addr{preferred(t, "b")}
	must.Get(network.Place(t.Context(), eng, first))(t)
	must.Succeed(t, eng.StopContainer(t.Context(), "a", 0))
	second, err := network.Place(t.Context(), eng, placement("b"))
	if err != nil || network.Addresses(second, network.DefaultName)[0] == first.Addresses[0] {
		t.Errorf("the address of a stopped container was given away: %v, %v", second.Labels, err)
	}
}

func TestPlaceTakesNextAddress(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, method string
		// claimed reports whether the other container has our labels and was not started: the engine sees no conflict.
		claimed  bool
		prepared int
	}{
		"BeforeStart":  {"Another process's container has taken the address and runs.", "StartContainer", false, 2},
		"BeforeCreate": {"The engine has given the address to another container meanwhile.", "CreateContainer", false, 2},
		"Claimed":      {"Another process claimed it meanwhile.", "CreateContainer", true, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, address := newEngine(t), preferred(t, "a")
			raced := false
			eng.OnCall(func(call simulated.Call) error {
				if raced || call.Method != tc.method {
					return nil
				}
				raced = true
				// A container without our labels, as a user's would be.
				spec := engine.Spec{Name: "other", Image: testImage, Attachment: engine.Attachment{
					Network: network.DefaultName, Addresses: []netip.Addr{address},
				}}
				if tc.claimed {
					spec.Attachment = engine.Attachment{}
					spec.Labels = map[string]string{identity.LabelNetwork: network.DefaultName, identity.LabelAddress: address.String()}
				}
				_, err := eng.CreateContainer(t.Context(), spec)
				if err == nil && !tc.claimed {
					err = eng.StartContainer(t.Context(), "other")
				}
				return err
			})
			prepared := 0
			p := placement("a")
			p.Prepare = func(context.Context, []netip.Addr) error { prepared++; return nil }
			container, err := network.Place(t.Context(), eng, p)
			if err != nil {
				t.Fatalf("%s\nPlace: %v", tc.reason, err)
			}
			if got := container.Networks[network.DefaultName].Addresses; len(got) != 1 || got[0] == address {
				t.Errorf("%s\naddresses %v, want another one", tc.reason, got)
			}
			if prepared != tc.prepared {
				t.Errorf("%s\nprepared %d times, want %d", tc.reason, prepared, tc.prepared)
			}
		})
	}
}

func TestPlaceLeftovers(t *testing.T) {
	t.Parallel()
	ours := placement("a").Spec.Labels
	cases := map[string]struct {
		reason  string
		labels  map[string]string
		start   bool
		refused bool
	}{
		"OtherSpec": {"It was created from another specification and never started.", ours, false, false},
		"Running":   {"It may hold state; the caller has to look at it.", ours, true, true},
		"Foreign":   {"Another owner's container is not removed.", map[string]string{identity.LabelCluster: "demo"}, false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t)
			id := must.Get(eng.CreateContainer(t.Context(), engine.Spec{Name: "a", Image: testImage, Labels: tc.labels}))(t)
			if tc.start {
				must.Succeed(t, eng.StartContainer(t.Context(), "a"))
			}
			container, err := network.Place(t.Context(), eng, placement("a"))
			if tc.refused != engine.IsTaken(err, engine.ResourceName) {
				t.Fatalf("%s\nPlace: %v", tc.reason, err)
			}
			if tc.refused == (container.ID != "") {
				t.Errorf("%s\nPlace = %+v", tc.reason, container)
			}
			left, err := eng.InspectContainer(t.Context(), "a")
			if err != nil || tc.refused != (left.ID == id) {
				t.Errorf("%s\ncontainer %s is left, %v", tc.reason, left.ID, err)
			}
		})
	}
}

// booted is an engine after a boot of its host, as Podman 4 describes it: what
// ran before is created.
type booted struct{ *simulated.Engine }

func (b booted) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	container, err := b.Engine.InspectContainer(ctx, name)
	container.Status = engine.StatusCreated
	return container, err
}

func TestPlaceKeepsWhatRanBeforeBoot(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	must.Get(network.Place(t.Context(), eng, placement("a")))(t)
	_, err := network.Place(t.Context(), booted{eng}, placement("a"))
	if !engine.IsTaken(err, engine.ResourceName) {
		t.Errorf("Place: %v, want a conflict of the name", err)
	}
	if diff := cmp.Diff([]string{"a"}, names(t, eng)); diff != "" {
		t.Errorf("containers: -want +got:\n%s", diff)
	}
}

func TestPlaceLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := map[string]struct {
		reason string
		change func(*simulated.Engine, *network.Placement)
		check  func(error) bool
	}{
		"Prepare": {
			"What cannot be prepared must not start.",
			func(_ *simulated.Engine, p *network.Placement) {
				p.Prepare = func(context.Context, []netip.Addr) error { return broken }
			},
			func(err error) bool { return errors.Is(err, broken) },
		},
		"Start": {
			"An engine's own error is passed on.",
			func(eng *simulated.Engine, _ *network.Placement) { eng.FailNext("StartContainer", broken) },
			func(err error) bool { return errors.Is(err, broken) },
		},
		"NoStaticAddresses": {
			"The network cannot serve, which its inspection did not show.",
			func(eng *simulated.Engine, _ *network.Placement) {
				eng.FailNext("StartContainer", fmt.Errorf("no: %w", engine.ErrNoStaticAddresses))
			},
			func(err error) bool {
				var unusable *network.UnusableError
				return errors.As(err, &unusable) && unusable.Network == network.DefaultName && strings.Contains(unusable.Remedy, "--subnet")
			},
		},
		"HostPort": {
			"A port taken is typed.",
			func(eng *simulated.Engine, p *network.Placement) {
				eng.OccupyHostPort(7000)
				p.Spec.Ports = []engine.PortBinding{{HostPort: 7000, ContainerPort: 6443}}
			},
			func(err error) bool { return engine.IsTaken(err, engine.ResourceHostPort) },
		},
		"Image": {
			"An image that is missing is typed.",
			func(_ *simulated.Engine, p *network.Placement) { p.Spec.Image = "localhost/absent:v1" },
			func(err error) bool { return errors.Is(err, engine.ErrNotFound) },
		},
		"Network": {
			"A network that is missing is typed.",
			func(_ *simulated.Engine, p *network.Placement) { p.Network = "absent" },
			func(err error) bool { return errors.Is(err, engine.ErrNotFound) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t)
			p := placement("a")
			tc.change(eng, &p)
			_, err := network.Place(t.Context(), eng, p)
			if !tc.check(err) {
				t.Errorf("%s\nPlace: %v", tc.reason, err)
			}
			if left := names(t, eng); len(left) != 0 {
				t.Errorf("%s\nleft behind: %v", tc.reason, left)
			}
		})
	}
}
