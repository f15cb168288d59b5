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
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestHostPortCandidates(t *testing.T) {
	t.Parallel()
	pinned := []engine.PortBinding{{ContainerPort: 80, HostPort: 8080}}
	if diff := cmp.Diff([][]engine.PortBinding{pinned}, network.HostPortCandidates("a", pinned), cmpopts.EquateComparable(engine.PortBinding{})); diff != "" {
		t.Errorf("nothing to choose: -want +got:\n%s", diff)
	}
	wanted := []engine.PortBinding{{ContainerPort: 80}, {ContainerPort: 53, Protocol: engine.ProtocolUDP}, {ContainerPort: 443, HostPort: 8443}}
	choices := network.HostPortCandidates("a", wanted)
	if again := network.HostPortCandidates("a", wanted); !cmp.Equal(choices, again, cmpopts.EquateComparable(engine.PortBinding{})) {
		t.Error("the choices are others the second time")
	}
	if other := network.HostPortCandidates("b", wanted); choices[0][0] == other[0][0] {
		t.Errorf("containers a and b begin with the same port %d", other[0][0].HostPort)
	}
	seen := map[uint16]bool{}
	for _, choice := range choices {
		if choice[2] != wanted[2] {
			t.Errorf("the pinned port became %v", choice[2])
		}
		for _, port := range choice[:2] {
			if port.HostPort < 20000 || port.HostPort >= 30000 {
				t.Errorf("port %d is outside of 20000 to 29999", port.HostPort)
			}
		}
		if choice[0].HostPort == choice[1].HostPort {
			t.Errorf("port %d twice in one choice", choice[0].HostPort)
		}
		seen[choice[0].HostPort] = true
	}
	if len(seen) != len(choices) {
		t.Errorf("%d choices have %d ports", len(choices), len(seen))
	}
}

func TestHostPortRange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]network.HostPortRange{
		"20000-29999": network.DefaultHostPorts(),
		"1024-1024":   {First: 1024, Last: 1024},
		"1024-65535":  {First: 1024, Last: 65535},
	} {
		got, err := network.ParseHostPortRange(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseHostPortRange(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "20000", "20000-", "-20000", "29999-20000", "80-443", "1023-2000", "20000-65536", "20000 - 29999", "20000-29999-", "a-b"} {
		if got, err := network.ParseHostPortRange(text); !errors.Is(err, network.ErrHostPortRange) {
			t.Errorf("ParseHostPortRange(%q) = %v, %v, want ErrHostPortRange", text, got, err)
		}
	}
}

// TestHostPortChoose: each port of a range is found, whatever its size.
func TestHostPortChoose(t *testing.T) {
	t.Parallel()
	for _, size := range []uint16{1, 2, 96, 97, 194, 1000} {
		ports := network.HostPortRange{First: 20000, Last: 20000 + size - 1}
		used := map[uint16]bool{}
		isUsed := func(port uint16) bool { return used[port] }
		for range size {
			port := ports.Choose("key", isUsed)
			if !ports.Contains(port) || used[port] {
				t.Fatalf("of %s: chose %d, want one that is free", ports, port)
			}
			used[port] = true
		}
		if port := ports.Choose("key", isUsed); port != 0 {
			t.Errorf("of %s: chose %d, want none: all are used", ports, port)
		}
	}
}

func TestHeldPorts(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{"image"}}, nil)
	for name, label := range map[string]string{
		"all": "0.0.0.0:8080/tcp", "local": "127.0.0.1:8081/tcp,127.0.0.1:5353/udp", "own": "127.0.0.1:8082/tcp", "broken": "8083",
	} {
		must.Get(eng.CreateContainer(t.Context(), engine.Spec{
			Name: name, Image: "image", Labels: map[string]string{identity.LabelHostPorts: label, identity.LabelMachine: name + "-0"},
		}))(t)
	}
	local, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1")
	for name, tc := range map[string]struct {
		reason string
		port   engine.PortBinding
		want   string
	}{
		"all addresses":  {"One address is among all.", engine.PortBinding{HostAddress: local, HostPort: 8080}, "all of Machine all-0"},
		"zero address":   {"It means all.", engine.PortBinding{HostPort: 8081}, "local of Machine local-0"},
		"unspecified":    {"So does this.", engine.PortBinding{HostAddress: netip.IPv4Unspecified(), HostPort: 8081}, "local of Machine local-0"},
		"other address":  {"Both can listen.", engine.PortBinding{HostAddress: other, HostPort: 8081}, ""},
		"other protocol": {"Both can listen.", engine.PortBinding{HostAddress: local, HostPort: 8081, Protocol: engine.ProtocolUDP}, ""},
		"UDP":            {"It is held as TCP is.", engine.PortBinding{HostAddress: local, HostPort: 5353, Protocol: engine.ProtocolUDP}, "local of Machine local-0"},
		"own":            {"A container does not conflict with itself.", engine.PortBinding{HostAddress: local, HostPort: 8082}, ""},
		"no host port":   {"A free one is chosen.", engine.PortBinding{HostAddress: local}, ""},
		"unreadable":     {"It says nothing.", engine.PortBinding{HostAddress: local, HostPort: 8083}, ""},
	} {
		isOwn := func(container engine.Container) bool { return container.Name == "own" }
		held, err := network.HeldPorts(t.Context(), eng, []engine.PortBinding{tc.port}, isOwn)
		got := ""
		if len(held) > 0 {
			got = held[0].HolderText()
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: %s HeldPorts = %q, %v, want %q", name, tc.reason, got, err, tc.want)
		}
	}
}
