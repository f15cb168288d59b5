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

package haproxy

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var update = flag.Bool("update", false, "write the golden files")

func backends(format string, count int) []Backend {
	var out []Backend
	for i := range count {
		out = append(out, Backend{
			Name:    fmt.Sprintf("demo-control-plane-%d", i),
			Address: netip.MustParseAddr(fmt.Sprintf(format, i+3)),
			Port:    6443,
			Weight:  FullWeight,
		})
	}
	return out
}

func controlPlane(port uint16, backends []Backend) []Frontend {
	return []Frontend{ControlPlane(port, backends)}
}

// service is a frontend of a Service's port.
func service(port uint16, backends []Backend) Frontend {
	return Frontend{
		Name: fmt.Sprintf("port-%d", port), Port: port, Backends: backends,
		Check: Check{Path: "/healthz", Statuses: "200", Port: 10256},
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	draining := backends("172.18.0.%d", 3)
	draining[1].Weight = 0
	cases := map[string]struct {
		reason string
		config Config
	}{
		"ipv4-none":     {"A cluster begins without machines.", Config{Frontends: controlPlane(6443, nil)}},
		"ipv4-one":      {"With one API server nothing is gained by cutting its clients off.", Config{Frontends: controlPlane(6443, backends("172.18.0.%d", 1))}},
		"ipv4-three":    {"Three API servers share, and a dead one's clients move.", Config{Frontends: controlPlane(6443, backends("172.18.0.%d", 3))}},
		"ipv4-draining": {"A machine that is deleted takes nothing new.", Config{Frontends: controlPlane(7777, draining)}},
		"ipv6-three":    {"IPv6 addresses are written with brackets.", Config{Family: FamilyIPv6, Frontends: controlPlane(6443, backends("fd00:10::%x", 3))}},
		"service": {"Each port has its own backends; one admits some clients, and sticks to them.", Config{Frontends: []Frontend{
			service(80, backends("172.18.0.%d", 2)),
			{
				Name: "port-5432", Port: 5432, Backends: backends("172.18.0.%d", 1), Sticky: true, Strict: true,
				Sources: []netip.Prefix{netip.MustParsePrefix("172.18.0.0/16"), netip.MustParsePrefix("10.0.0.1/32")},
			},
		}}},
		"udp": {"A relay has the UDP ports, alongside TCP on one of them; backends of TCP get the address of clients.", Config{Family: FamilyDual, Frontends: []Frontend{
			{Name: "port-53", Port: 53, Backends: backends("172.18.0.%d", 1), ProxyProtocol: true},
			{
				Name: "port-53-udp", Port: 53, UDP: true, Backends: backends("172.18.0.%d", 2), Sticky: true, Strict: true,
				Check:   Check{Path: "/healthz", Statuses: "200", Port: 10256},
				Sources: []netip.Prefix{netip.MustParsePrefix("172.18.0.0/16"), netip.MustParsePrefix("fd00::/8")},
			},
			{Name: "port-443-udp", Port: 443, UDP: true},
		}}},
		"dual-one": {"Both families share one listener.", Config{Family: FamilyDual, Frontends: controlPlane(6443, backends("172.18.0.%d", 1))}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Render(tc.config)
			if err != nil {
				t.Fatalf("%s\nRender: %v", tc.reason, err)
			}
			golden := filepath.Join("testdata", name+".cfg")
			if *update {
				must.Succeed(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want := must.Get(os.ReadFile(golden))(t)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s\nRender: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// sources are ranges of one address each.
func sources(count int) []netip.Prefix {
	var all []netip.Prefix
	address := netip.MustParseAddr("10.0.0.0")
	for range count {
		all, address = append(all, netip.PrefixFrom(address, 32)), address.Next()
	}
	return all
}

// TestLinesFit: haproxy refuses a line of more than 64 words or 2047 characters.
func TestLinesFit(t *testing.T) {
	t.Parallel()
	cases := map[string]Frontend{
		"sources":  {Name: "port-80", Port: 80, Sources: sources(MaxSources), Backends: backends("172.18.0.%d", 1)},
		"backends": {Name: "port-80", Port: 80, Backends: backends("fd00:10::%x", MaxBackends)},
		"a long name": {Name: "port-80", Port: 80, Backends: []Backend{
			{Name: strings.Repeat("a", 253), Address: netip.MustParseAddr("172.18.0.3"), Port: 30080, Weight: FullWeight},
		}},
	}
	for name, frontend := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := must.Get(Render(Config{Family: FamilyDual, Frontends: []Frontend{frontend}}))(t)
			for line := range strings.Lines(text) {
				if words := len(strings.Fields(line)); words > 64 || len(line) > 2048 {
					t.Errorf("a line has %d words and %d characters: %.80s…", words, len(line), line)
				}
			}
			for _, source := range frontend.Sources {
				if !strings.Contains(text, " "+source.String()) {
					t.Errorf("source %s is missing", source)
				}
			}
		})
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	ordered := Config{Frontends: controlPlane(6443, backends("172.18.0.%d", 5))}
	shuffled := Config{Family: FamilyIPv4, Frontends: controlPlane(6443, slices.Clone(ordered.Frontends[0].Backends))}
	slices.Reverse(shuffled.Frontends[0].Backends)
	want := must.Get(Render(ordered))(t)
	got := must.Get(Render(shuffled))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("equal configurations give different texts: -ordered +shuffled:\n%s", diff)
	}
	if shuffled.Frontends[0].Backends[0].Name != "demo-control-plane-4" {
		t.Error("Render changed the caller's backends")
	}
}

func TestGeneration(t *testing.T) {
	t.Parallel()
	one := must.Get(Render(Config{Frontends: controlPlane(6443, backends("172.18.0.%d", 1))}))(t)
	two := must.Get(Render(Config{Frontends: controlPlane(6443, backends("172.18.0.%d", 2))}))(t)
	if len(Generation(one)) != generationDigits || Generation(one) == Generation(two) {
		t.Errorf("generations %q and %q must be %d digits and differ", Generation(one), Generation(two), generationDigits)
	}
	for _, text := range []string{"", "global\n", "http-request return status 200 content-type text/plain string abc"} {
		if got := Generation(text); got != "" {
			t.Errorf("Generation(%q) = %q, want none", text, got)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	good := backends("172.18.0.%d", 1)[0]
	with := func(change func(*Backend)) Config {
		backend := good
		change(&backend)
		return Config{Frontends: controlPlane(6443, []Backend{backend})}
	}
	cases := map[string]struct {
		reason string
		config Config
		field  string
	}{
		"NoFrontends": {"It would do nothing.", Config{}, "frontends"},
		"SamePort": {"One of them would not listen.", Config{Frontends: []Frontend{
			{Name: "a", Port: 80}, {Name: "b", Port: 80},
		}}, "frontends[1].port"},
		"SameName":     {"A name is a section's.", Config{Frontends: []Frontend{{Name: "a", Port: 80}, {Name: "a", Port: 81}}}, "frontends[1].name"},
		"StatusName":   {"The status listener has that name.", Config{Frontends: []Frontend{{Name: "status", Port: 80}}}, "frontends[0].name"},
		"ReservedName": {"It is that of the fallback.", Config{Frontends: []Frontend{{Name: "a-unready", Port: 80}}}, "frontends[0].name"},
		"Frontend":     {"A line break would begin a line of its own.", Config{Frontends: []Frontend{{Name: "a\n", Port: 80}}}, "frontends[0].name"},
		"Path": {"A space would begin an argument.", Config{Frontends: []Frontend{
			{Name: "a", Port: 80, Check: Check{Path: "/a b", Statuses: "200"}},
		}}, "frontends[0].check.path"},
		"Statuses": {"A check without them passes with any.", Config{Frontends: []Frontend{
			{Name: "a", Port: 80, Check: Check{Path: "/a"}},
		}}, "frontends[0].check.statuses"},
		"Source": {"The zero value is no range.", Config{Frontends: []Frontend{
			{Name: "a", Port: 80, Sources: make([]netip.Prefix, 1)},
		}}, "frontends[0].sources[0]"},
		"ManySources": {"The text is bounded.", Config{Frontends: []Frontend{
			{Name: "a", Port: 80, Sources: sources(MaxSources + 1)},
		}}, "frontends[0].sources"},
		"NoPort":        {"There is no port 0.", Config{Frontends: controlPlane(0, nil)}, "frontends[0].port"},
		"StatusPort":    {"The status listener has that port.", Config{Frontends: controlPlane(StatusPort, nil)}, "frontends[0].port"},
		"Family":        {"The family is a closed list.", Config{Family: "IPv4\n", Frontends: controlPlane(6443, nil)}, "family"},
		"Many":          {"The text is bounded.", Config{Frontends: controlPlane(6443, backends("fd00:10::%x", MaxBackends+1))}, "frontends[0].backends"},
		"NoName":        {"A server has a name.", with(func(b *Backend) { b.Name = "" }), "frontends[0].backends[0].name"},
		"LineInName":    {"A line break would begin a line of its own.", with(func(b *Backend) { b.Name = "a\nglobal" }), "frontends[0].backends[0].name"},
		"SpaceInName":   {"A space would begin an argument.", with(func(b *Backend) { b.Name = "a 10.0.0.1:1" }), "frontends[0].backends[0].name"},
		"CommentInName": {"The rest would be a comment.", with(func(b *Backend) { b.Name = "a#" }), "frontends[0].backends[0].name"},
		"VariableInName": {
			"haproxy expands variables in quotes.", with(func(b *Backend) { b.Name = `"$HOME"` }), "frontends[0].backends[0].name"},
		"EndOfText":   {"$ of a pattern may match before a last line break.", with(func(b *Backend) { b.Name = "a\n" }), "frontends[0].backends[0].name"},
		"NoAddress":   {"A stopped container has none; it must be left out.", with(func(b *Backend) { b.Address = netip.Addr{} }), "frontends[0].backends[0].address"},
		"Loopback":    {"It is the load balancer's own.", with(func(b *Backend) { b.Address = netip.MustParseAddr("127.0.0.1") }), "frontends[0].backends[0].address"},
		"Unspecified": {"0.0.0.0 is no machine.", with(func(b *Backend) { b.Address = netip.IPv4Unspecified() }), "frontends[0].backends[0].address"},
		"Zone":        {"A zone is free text.", with(func(b *Backend) { b.Address = netip.MustParseAddr("fe80::1").WithZone("a\nb") }), "frontends[0].backends[0].address"},
		"NoBackendPort": {
			"There is no port 0.", with(func(b *Backend) { b.Port = 0 }), "frontends[0].backends[0].port"},
		"Negative": {"No weight is below 0.", with(func(b *Backend) { b.Weight = -1 }), "frontends[0].backends[0].weight"},
		"Heavy":    {"haproxy's limit is 256.", with(func(b *Backend) { b.Weight = 257 }), "frontends[0].backends[0].weight"},
		"Twice":    {"Names are unique.", Config{Frontends: controlPlane(6443, []Backend{good, good})}, "frontends[0].backends[1].name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := Render(tc.config)
			var invalid *InvalidError
			if !errors.As(err, &invalid) || text != "" {
				t.Fatalf("%s\nRender = %q, %v, want an InvalidError", tc.reason, text, err)
			}
			if invalid.Field != tc.field {
				t.Errorf("%s\nfield = %q, want %q", tc.reason, invalid.Field, tc.field)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error text spans lines: %q", err)
			}
		})
	}
}

// FuzzRender proves that no value adds a line or an argument: whatever is
// rendered has the lines of a harmless configuration of the same shape.
func FuzzRender(f *testing.F) {
	f.Add("a", "172.18.0.3", uint16(6443), 100)
	f.Add("a\n  server evil 10.0.0.1:1", "::ffff:10.0.0.1", uint16(1), 0)
	f.Add("$(x) # \"", "fe80::1%a b", uint16(0), -5)
	f.Fuzz(func(t *testing.T, name, address string, port uint16, weight int) {
		parsed, err := netip.ParseAddr(address)
		if err != nil {
			t.Skip()
		}
		var text string
		must.StayWithin(t, len(name)+len(address), must.Limit{Base: 1 << 20, PerByte: 64}, func() {
			text, err = Render(Config{Frontends: controlPlane(6443, []Backend{{Name: name, Address: parsed, Port: port, Weight: weight}})})
		})
		if err != nil {
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		harmless := must.Get(Render(Config{Frontends: controlPlane(6443, []Backend{{Name: "x", Address: netip.MustParseAddr("10.0.0.1"), Port: 1, Weight: 1}})}))(t)
		lines, want := strings.Split(text, "\n"), strings.Split(harmless, "\n")
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d", len(lines), len(want))
		}
		for i := range lines {
			if got := len(strings.Fields(lines[i])); got != len(strings.Fields(want[i])) {
				t.Errorf("line %q has %d words", lines[i], got)
			}
		}
		if Generation(text) == "" {
			t.Error("no generation")
		}
	})
}
