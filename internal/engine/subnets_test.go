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

package engine

import (
	"net/netip"
	"testing"
)

func TestDynamicSlice(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ subnet, want string }{
		"Docker's usual size":       {"172.18.0.0/16", "172.18.128.0/17"},
		"a byte":                    {"192.168.7.0/24", "192.168.7.128/25"},
		"within a byte":             {"10.0.16.0/20", "10.0.24.0/21"},
		"eight addresses":           {"10.0.0.8/29", "10.0.0.12/30"},
		"IPv6":                      {"fd00:1::/64", "fd00:1::8000:0/97"},
		"a small subnet of IPv6":    {"fd00:1::/112", "fd00:1::8000/113"},
		"host bits set are ignored": {"10.1.2.3/24", "10.1.2.128/25"},
	}
	for name, c := range cases {
		if got := DynamicSlice(netip.MustParsePrefix(c.subnet)); got != netip.MustParsePrefix(c.want) {
			t.Errorf("%s: DynamicSlice(%s) = %s, want %s", name, c.subnet, got, c.want)
		}
	}
	for _, small := range []string{"10.0.0.0/30", "10.0.0.1/32"} {
		if got := DynamicSlice(netip.MustParsePrefix(small)); got.IsValid() {
			t.Errorf("DynamicSlice(%s) = %s, want none: it is too small to divide", small, got)
		}
	}
	if got := DynamicSlice(netip.Prefix{}); got.IsValid() {
		t.Errorf("DynamicSlice of nothing = %s, want none", got)
	}
}
