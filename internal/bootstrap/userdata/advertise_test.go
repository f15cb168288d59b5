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

package userdata

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestAdvertise: the API server of a control plane gets the address of the primary family, unless the user gives one.
func TestAdvertise(t *testing.T) {
	t.Parallel()
	const cluster = "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nnetworking: {podSubnet: 'fd00::/56'}\n"
	cases := map[string]struct{ reason, text, want string }{
		"init": {
			"kubeadm would choose IPv4.", initDocument,
			initDocument + "localAPIEndpoint:\n  advertiseAddress: fd00:1::5\n",
		},
		"other documents": {
			"They stay byte for byte.", initDocument + "localAPIEndpoint:\n  bindPort: 7443\n" + cluster,
			initDocument + "localAPIEndpoint:\n  bindPort: 7443\n  advertiseAddress: fd00:1::5\n" + cluster,
		},
		"empty": {
			"It is as if it were missing.", initDocument + "localAPIEndpoint:\n  advertiseAddress: \"\"\n",
			initDocument + "localAPIEndpoint:\n  advertiseAddress: fd00:1::5\n",
		},
		"given": {
			"The user's wins.", initDocument + "localAPIEndpoint: {advertiseAddress: 10.0.0.5}\n",
			initDocument + "localAPIEndpoint: {advertiseAddress: 10.0.0.5}\n",
		},
		"join of a control plane": {
			"Its etcd member has the address too.", joinDocument + "controlPlane: {}\n",
			joinDocument + "controlPlane:\n  localAPIEndpoint:\n    advertiseAddress: fd00:1::5\n",
		},
		"join of a worker":  {"It has no API server.", joinDocument + "discovery: {}\n", joinDocument + "discovery: {}\n"},
		"not of this shape": {"kubeadm says better what is wrong.", initDocument + "localAPIEndpoint: text\n", initDocument + "localAPIEndpoint: text\n"},
		"another file":      {"It is none of kubeadm's.", "kind: Other\n", "kind: Other\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := Config{Files: []File{kubeadmFile(tc.text)}}
			got := must.Get(before.Advertise(netip.MustParseAddr("fd00:1::5")))(t)
			if diff := cmp.Diff(tc.want, string(got.Files[0].Content)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if string(before.Files[0].Content) != tc.text {
				t.Errorf("the receiver was changed: %q", before.Files[0].Content)
			}
		})
	}
	if _, err := (Config{Files: []File{kubeadmFile(initDocument + "x: [\n")}}).Advertise(netip.IPv6Loopback()); err == nil {
		t.Error("a broken document was accepted")
	}
}
