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

package lan_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/network/lan"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
)

const image = "haproxy"

// hosts on one network of both families.
type hosts struct {
	request   lan.Request
	engines   map[string]*simulated.Engine
	processes map[string]*simulatedhaproxy.Processes
}

func newHosts(names ...string) hosts {
	h := hosts{
		request: lan.Request{
			Owner: identity.Owner{Namespace: "team", Cluster: "demo", ID: "id"}, Network: "lan", Families: network.Families{network.IPv4, network.IPv6},
		},
		engines: map[string]*simulated.Engine{}, processes: map[string]*simulatedhaproxy.Processes{},
	}
	for i, name := range names {
		eng := simulated.New()
		eng.AddImage(engine.Image{Tags: []string{image}}, nil)
		eng.AddNetwork(engine.Network{Name: "lan", Driver: "macvlan", Subnets: []engine.Subnet{
			{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: netip.MustParsePrefix(fmt.Sprintf("10.0.0.%d/28", 192+16*i))},
			{Prefix: netip.MustParsePrefix("fd00::/64"), Dynamic: netip.MustParsePrefix(fmt.Sprintf("fd00::%d:0/112", i+1))},
		}})
		h.engines[name], h.processes[name] = eng, simulatedhaproxy.Run(eng)
		h.request.Hosts = append(h.request.Hosts, lan.Host{Name: name, Engine: eng, Image: image})
	}
	return h
}

// check, after which no container is left.
func (h hosts) check(t *testing.T) error {
	t.Helper()
	err := lan.Check(t.Context(), h.request)
	for name, eng := range h.engines {
		if left := must.Get(eng.ListContainers(context.WithoutCancel(t.Context()), nil))(t); len(left) > 0 {
			t.Errorf("containers are left on %s: %+v", name, left)
		}
	}
	return err
}

func TestCheck(t *testing.T) {
	t.Parallel()
	var asked int
	h := newHosts("a", "b", "c")
	for _, processes := range h.processes {
		processes.SetReach(func(netip.Addr) lan.Reach { asked++; return lan.Responds })
	}
	must.Succeed(t, h.check(t))
	if asked != 12 {
		t.Errorf("%d requests, want those of both families for 6 pairs", asked)
	}
}

// TestCheckRefuses: the message names the hosts, and what to do.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	ofB := func(reach lan.Reach, prefix string) func(netip.Addr) lan.Reach {
		return func(address netip.Addr) lan.Reach {
			if netip.MustParsePrefix(prefix).Contains(address) {
				return reach
			}
			return lan.Responds
		}
	}
	for name, test := range map[string]struct {
		from  string
		reach func(netip.Addr) lan.Reach
		want  string
	}{
		"no response": {"a", ofB(lan.Silent, "10.0.0.208/28"),
			`network "lan" does not connect ContainerEngine "a" with "b": no response within 10s; connect its parent interfaces on these hosts to one LAN`},
		"of one family": {"a", ofB(lan.Silent, "fd00::2:0/112"), `does not connect ContainerEngine "a" with "b"`},
		"of several":    {"c", ofB(lan.Silent, "10.0.0.0/24"), `does not connect ContainerEngine "c" with "a", "b"`},
		"large packets": {"c", ofB(lan.Connects, "10.0.0.208/28"),
			`carries only small packets to ContainerEngine "c" from "b": a response of 12288 bytes does not arrive within 10s; give its parent interfaces on these hosts an MTU`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHosts("a", "b", "c")
			h.processes[test.from].SetReach(test.reach)
			err := h.check(t)
			if unusable, is := errors.AsType[*network.UnusableError](err); !is || !strings.Contains(unusable.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// TestCheckFails: what an engine refuses is its error, and nothing is left of what was created before.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arrange func(*simulated.Engine)
		want    error
	}{
		"no image":    {func(b *simulated.Engine) { b.RemoveImage(image) }, engine.ErrNotFound},
		"not started": {func(b *simulated.Engine) { b.FailNext("StartContainer", errRefused) }, errRefused},
		"not asked":   {func(b *simulated.Engine) { b.FailNext("Exec", errRefused) }, errRefused},
		"no bash": {func(b *simulated.Engine) {
			b.HandleExec(func(string, engine.Command) (engine.Output, error) {
				return engine.Output{}, &engine.ExitError{Code: 127}
			})
		}, &engine.ExitError{Code: 127}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHosts("a", "b")
			test.arrange(h.engines["b"])
			err := h.check(t)
			exit := new(engine.ExitError)
			isExit := errors.As(err, &exit) && exit.Code == 127
			if !errors.Is(err, test.want) && !isExit || !strings.Contains(err.Error(), `ContainerEngine "b"`) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

var errRefused = errors.New("no space left on device")
