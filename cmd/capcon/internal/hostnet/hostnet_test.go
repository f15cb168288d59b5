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

package hostnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// route is a line of /proc/net/route.
func route(device, destination string, flags uint) string {
	prefix := netip.MustParsePrefix(destination)
	number := func(address [4]byte) uint32 { return binary.NativeEndian.Uint32(address[:]) }
	mask := [4]byte(net.CIDRMask(prefix.Bits(), 32))
	return fmt.Sprintf("%s\t%08X\t00000000\t%04X\t0\t0\t100\t%08X\t0\t0\t0\n", device, number(prefix.Addr().As4()), flags, number(mask))
}

func TestUsed(t *testing.T) {
	t.Parallel()
	const heading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	cases := map[string]struct {
		reason     string
		files      map[string]string
		interfaces []string
		want       []string
	}{
		"nothing": {"Other systems have none of the files.", nil, nil, nil},
		"routes": {
			"Networks behind a router or a VPN.",
			map[string]string{"proc/net/route": heading + route("wlan0", "192.168.1.0/24", 1) + route("tun0", "10.0.0.0/8", 3)}, nil,
			[]string{"route 192.168.1.0/24 of this host (wlan0)", "route 10.0.0.0/8 of this host (tun0)"},
		},
		"default": {
			"A default route leads to everything; a VPN has two halves.",
			map[string]string{"proc/net/route": heading + route("eth0", "0.0.0.0/0", 3) + route("tun0", "128.0.0.0/1", 3)}, nil, nil,
		},
		"reject": {
			"Nothing is reached by it.",
			map[string]string{"proc/net/route": heading + route("*", "10.0.0.0/8", 0x201) + route("eth0", "169.254.0.0/16", 1)}, nil, nil,
		},
		"routes of IPv6": {
			"A VPN; not the default route, what is rejected, this host's own addresses and each link's.",
			map[string]string{"proc/net/ipv6_route": "fd000010000000000000000000000000 20 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000001 00000000 00000001     tun0\n" +
				"00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n" +
				"fd010000000000000000000000000000 10 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000001 00000000 00200200     eth0\n" +
				"fd000000000000000000000000000002 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000002 00000000 80200001       lo\n" +
				"fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n"}, nil,
			[]string{"route fd00:10::/32 of this host (tun0)"},
		},
		"interfaces": {
			"Also where routes cannot be read.", nil, []string{"192.168.178.20/24", "127.0.0.1/8", "fd00:7::3/64", "fe80::1/64", "::1/128"},
			[]string{"network 192.168.178.0/24 of this host", "network fd00:7::/64 of this host"},
		},
		"name servers": {
			"Without them no name is resolved in nodes. That of systemd-resolved is elsewhere.",
			map[string]string{
				"etc/resolv.conf":                 "# by hand\nnameserver 127.0.0.53\nnameserver\nnameserver x\nsearch example.com\nnameserver 192.168.1.1\n",
				"run/systemd/resolve/resolv.conf": "nameserver 10.244.0.10\nnameserver fd00::53%eth0\n",
			}, nil,
			[]string{"name server 192.168.1.1 of this host", "name server 10.244.0.10 of this host", "name server fd00::53 of this host"},
		},
		"damaged": {"It is left out.", map[string]string{"proc/net/route": heading + "eth0\tXX\n" + "eth0\tXX\t0\t1\t0\t0\t0\tFF\t0\n"}, nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{}
			for path, content := range tc.files {
				root[path] = &fstest.MapFile{Data: []byte(content)}
			}
			interfaces := func() (addresses []net.Addr, err error) {
				for _, text := range tc.interfaces {
					address, network, err := net.ParseCIDR(text)
					if err != nil {
						t.Fatal(err)
					}
					addresses = append(addresses, &net.IPNet{IP: address, Mask: network.Mask})
				}
				return addresses, errors.New("more cannot be read")
			}
			var got []string
			for _, used := range Used(root, interfaces) {
				got = append(got, used.By)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
