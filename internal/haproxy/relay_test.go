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
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestRelayReadsWhatIsRendered whatever families and sources.
func TestRelayReadsWhatIsRendered(t *testing.T) {
	t.Parallel()
	all := append(sources(MaxSources-1), netip.MustParsePrefix("fd00::/8"))
	text := must.Get(Render(Config{Family: FamilyDual, Frontends: []Frontend{
		{Name: "port-53", Port: 53, Backends: backends("172.18.0.%d", 1)},
		{Name: "port-53-udp", Port: 53, UDP: true, Sticky: true, Strict: true, Sources: all, Backends: backends("172.18.0.%d", 2)},
		{Name: "port-80-udp", Port: 80, UDP: true, Backends: backends("172.18.0.%d", 1)},
		{Name: "port-90-udp", Port: 90, UDP: true},
	}}))(t)
	want := []RelayPort{
		{Name: "port-53-udp", Network: "udp", Port: 53, Sticky: true, Strict: true, Sources: all},
		{Name: "port-80-udp", Network: "udp", Port: 80},
	}
	got := must.Get(ParseRelay(text))(t)
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("ParseRelay: -want +got:\n%s", diff)
	}
	if strings.Contains(text, "frontend port-53-udp") || strings.Contains(text, "port-80-udp-unready") {
		t.Errorf("haproxy would listen for datagrams, or forward them:\n%s", text)
	}
}

func TestParseRelayRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"unknown line":     "#relay drop port-53-udp\n",
		"no port":          "#relay listen port-53-udp udp\n",
		"port of 17 bits":  "#relay listen port-53-udp udp 65536\n",
		"unknown word":     "#relay listen port-53-udp udp 53 fast\n",
		"source of none":   "#relay source port-53-udp 10.0.0.0/8\n",
		"source of others": "#relay listen port-53-udp udp 53\n#relay source port-54-udp 10.0.0.0/8\n",
		"no range":         "#relay listen port-53-udp udp 53\n#relay source port-53-udp 10.0.0.1\n",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if ports, err := ParseRelay(text); !errors.Is(err, ErrRelay) {
				t.Errorf("ParseRelay = %v, %v, want ErrRelay", ports, err)
			}
		})
	}
}
