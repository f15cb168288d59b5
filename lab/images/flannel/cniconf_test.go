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

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNetConf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, subnets, want string
		failure               bool
	}{
		"IPv4": {
			"one family", "10.244.0.0/16",
			`{"Backend":{"Type":"vxlan"},"EnableIPv4":true,"EnableIPv6":false,"Network":"10.244.0.0/16"}`, false,
		},
		"IPv6": {
			"flannel enables IPv4 by default", "fd00:10:244::/56",
			`{"Backend":{"Type":"vxlan"},"EnableIPv4":false,"EnableIPv6":true,"IPv6Network":"fd00:10:244::/56"}`, false,
		},
		"DualStack": {
			"in any order, with spaces, and host bits dropped", "fd00:10:244::/56, 10.244.1.2/16",
			`{"Backend":{"Type":"vxlan"},"EnableIPv4":true,"EnableIPv6":true,"IPv6Network":"fd00:10:244::/56","Network":"10.244.0.0/16"}`, false,
		},
		"Empty":   {"a flag was forgotten", "", "", true},
		"Address": {"not a subnet", "10.244.0.1", "", true},
		"Two":     {"flannel has room for one of each family", "10.244.0.0/16,10.245.0.0/16", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			networks, err := parsePodSubnets(tc.subnets)
			if (err != nil) != tc.failure {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if tc.failure {
				return
			}
			got, err := networks.netConf()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCNIConfig(t *testing.T) {
	t.Parallel()
	got, err := cniConfig([]string{"10.244.1.0/24", "fd00:10:244:1::/64"}, 1500)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "cniVersion": "1.0.0",
  "name": "cbr0",
  "plugins": [
    {
      "ipam": {
        "dataDir": "/run/cni-ipam-state",
        "ranges": [
          [
            {
              "subnet": "10.244.1.0/24"
            }
          ],
          [
            {
              "subnet": "fd00:10:244:1::/64"
            }
          ]
        ],
        "routes": [
          {
            "dst": "0.0.0.0/0"
          },
          {
            "dst": "::/0"
          }
        ],
        "type": "host-local"
      },
      "mtu": 1500,
      "type": "ptp"
    },
    {
      "capabilities": {
        "portMappings": true
      },
      "type": "portmap"
    }
  ]
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("CNI configuration (-want, +got):\n%s", diff)
	}
	if _, err := cniConfig([]string{"10.244.1.0"}, 1500); err == nil {
		t.Error("an address is not a subnet")
	}
}
