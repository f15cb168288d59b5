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

package script

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestAddresses: the kubelet registers the addresses of a node, and its API server advertises the first.
func TestAddresses(t *testing.T) {
	t.Parallel()
	const registration = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n  - {name: v, value: '4'}\n"
	v4, v6 := netip.MustParseAddr("172.18.0.3"), netip.MustParseAddr("fd00:1::3")
	cases := map[string]struct {
		reason    string
		kubeadm   string
		addresses []netip.Addr
		// flag of the kubelet, empty = none, and the advertised address.
		flag, advertised string
	}{
		"none":       {reason: "Kubernetes has defaults for IPv4.", kubeadm: registration},
		"IPv6":       {reason: "A single family.", kubeadm: registration, addresses: []netip.Addr{v6}, flag: "--node-ip=fd00:1::3", advertised: "fd00:1::3"},
		"dual":       {reason: "The first is the primary one.", kubeadm: registration, addresses: []netip.Addr{v4, v6}, flag: "--node-ip=172.18.0.3,fd00:1::3", advertised: "172.18.0.3"},
		"IPv6 first": {reason: "The first is the primary one.", kubeadm: registration, addresses: []netip.Addr{v6, v4}, flag: "--node-ip=fd00:1::3,172.18.0.3", advertised: "fd00:1::3"},
		"given": {
			reason: "The user's flag wins.", kubeadm: registration + "  - {name: node-ip, value: 'fd00:1::9'}\n",
			addresses: []netip.Addr{v6}, advertised: "fd00:1::3",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := Input{
				Config:       userdata.Config{Files: []userdata.File{{Path: "/run/kubeadm/kubeadm.yaml", Content: []byte(tc.kubeadm)}}},
				KubeletFlags: []string{"--fail-swap-on=false"}, Addresses: tc.addresses,
			}
			completed := must.Get(in.withAddresses())(t)
			flags := must.Get(completed.kubeletFlags())(t)
			want := []string{"--fail-swap-on=false"}
			if tc.flag != "" {
				want = append(want, tc.flag)
			}
			if diff := cmp.Diff(want, flags); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			text := string(completed.Config.Files[0].Content)
			if has := strings.Contains(text, "advertiseAddress: "+tc.advertised+"\n"); has != (tc.advertised != "") {
				t.Errorf("%s: advertised is not %q:\n%s", tc.reason, tc.advertised, text)
			}
			if !slices.Equal(in.KubeletFlags, []string{"--fail-swap-on=false"}) {
				t.Errorf("the input was changed: %q", in.KubeletFlags)
			}
		})
	}
}
