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

package machine

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// planned is what a plan says about the fields that the cases change.
type planned struct {
	// message of the outcome where there is no plan.
	message    string
	addresses  []netip.Addr
	mounts     []node.Mount
	cdiDevices []string
	// team, attempt and hostPorts are labels.
	team, attempt, hostPorts string
}

// TestPlan: a plan is a function of the objects and of the facts about the host.
func TestPlan(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*infrav1.ContainerMachineSpec, *hostinfo.Facts)
		want   planned
	}{
		"Default": {
			reason: "A machine needs no settings.",
			change: func(*infrav1.ContainerMachineSpec, *hostinfo.Facts) {}, want: planned{attempt: "1"},
		},
		"Recreated": {
			reason: "A container that replaces another one gets its addresses, and is another attempt.",
			change: func(spec *infrav1.ContainerMachineSpec, _ *hostinfo.Facts) {
				spec.Bootstrap.Addresses, spec.Bootstrap.Attempt = []string{"10.0.0.9"}, 2
			},
			want: planned{addresses: []netip.Addr{netip.MustParseAddr("10.0.0.9")}, attempt: "2"},
		},
		"Devices": {
			reason: "One with a path is a mount, one with a name is a CDI device.",
			change: func(spec *infrav1.ContainerMachineSpec, _ *hostinfo.Facts) {
				spec.Devices = []infrav1.Device{{Path: "/dev/fuse"}, {Name: "vendor.com/class=name"}}
			},
			want: planned{
				mounts:     []node.Mount{{HostPath: "/dev/fuse", ContainerPath: "/dev/fuse"}},
				cdiDevices: []string{"vendor.com/class=name"}, attempt: "1",
			},
		},
		"Ports": {
			reason: "Other machines find the host ports of this one by a label.",
			change: func(spec *infrav1.ContainerMachineSpec, _ *hostinfo.Facts) {
				spec.PortMappings = []infrav1.PortMapping{{ContainerPort: 80, HostPort: 8080, Address: "0.0.0.0"}}
			},
			want: planned{attempt: "1", hostPorts: "0.0.0.0:8080/tcp"},
		},
		"Labels": {
			reason: "Those of the user do not replace the provider's.",
			change: func(spec *infrav1.ContainerMachineSpec, _ *hostinfo.Facts) {
				spec.Labels = map[string]string{"example.com/team": "a", identity.LabelAttempt: "7"}
			},
			want: planned{team: "a", attempt: "1"},
		},
		"MoreCPUsThanTheHost": {
			reason: "The engine refuses it without the name of the field.",
			change: func(spec *infrav1.ContainerMachineSpec, facts *hostinfo.Facts) {
				spec.Resources.CPU, facts.Node.MilliCPU = ptr.To(resource.MustParse("3")), 2000
			},
			want: planned{message: "spec.resources.cpu is 3, but the engine's host has only 2; use less, or omit it"},
		},
		"NoPrivilegedContainers": {
			reason: "A node is a privileged container.",
			change: func(_ *infrav1.ContainerMachineSpec, facts *hostinfo.Facts) {
				facts.Probed.PrivilegedError = engine.ErrInvalid
			},
			want: planned{message: `run a privileged container of image "image"`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := builders.New()
			s := &scope{
				clusterName: builders.Cluster, cluster: objects.Cluster, containerCluster: objects.ContainerCluster,
				machine: objects.Machine, containerMachine: objects.ContainerMachine,
			}
			var facts hostinfo.Facts
			tc.change(&s.containerMachine.Spec, &facts)
			got := summary(s.plan("image", facts))
			if tc.want.message != "" && strings.Contains(got.message, tc.want.message) {
				got.message = tc.want.message
			}
			options := []gocmp.Option{gocmp.AllowUnexported(planned{}), cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()}
			if diff := gocmp.Diff(tc.want, got, options...); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func summary(p plan, outcome error) planned {
	var object infrav1.ContainerMachine
	if outcome != nil {
		reconcile.Report(&object, infrav1.ContainerReadyCondition, outcome)
		return planned{message: object.Status.Conditions[0].Message}
	}
	spec := p.spec(p.ports[0])
	return planned{
		addresses: p.addresses, mounts: p.machine.Mounts, cdiDevices: spec.CDIDevices,
		team: spec.Labels["example.com/team"], attempt: spec.Labels[identity.LabelAttempt], hostPorts: spec.Labels[identity.LabelHostPorts],
	}
}

// TestAddressesOfFamilies: what a node gets to know of its addresses, and what is published of them, follows the ranges of
// the Cluster. Nothing changes for a cluster with IPv4 alone, also on a network that has both families.
func TestAddressesOfFamilies(t *testing.T) {
	t.Parallel()
	const v4, v6 = "172.18.0.3", "fd00:1::3"
	cases := map[string]struct {
		reason string
		ranges []string
		// nodeIP of the kubelet; empty = none, and the archive is the one without addresses.
		nodeIP    string
		published []string
	}{
		"no ranges":  {reason: "IPv4 is the default.", published: []string{v4, v6}},
		"IPv4":       {reason: "As before there were others.", ranges: []string{"10.244.0.0/16"}, published: []string{v4, v6}},
		"IPv6":       {reason: "The other address is for the engine's ports.", ranges: []string{"fd00:10:244::/56"}, nodeIP: v6, published: []string{v6}},
		"dual":       {reason: "The order of the ranges.", ranges: []string{"10.244.0.0/16", "fd00:10:244::/56"}, nodeIP: v4 + "," + v6, published: []string{v4, v6}},
		"IPv6 first": {reason: "The order of the ranges.", ranges: []string{"fd00:10:244::/56", "10.244.0.0/16"}, nodeIP: v6 + "," + v4, published: []string{v6, v4}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := builders.New(func(o *builders.Objects) { o.Cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = tc.ranges })
			s := &scope{
				clusterName: builders.Cluster, cluster: objects.Cluster, containerCluster: objects.ContainerCluster,
				machine: objects.Machine, containerMachine: objects.ContainerMachine,
			}
			s.containerMachine.Spec.Bootstrap.Addresses = []string{v4, v6}
			p := must.Get(s.plan("image", hostinfo.Facts{}))(t)
			got := must.Get(p.archive([]netip.Addr{netip.MustParseAddr(v4), netip.MustParseAddr(v6)}))(t)
			flag := []byte("--node-ip=" + tc.nodeIP + "\n")
			if tc.nodeIP != "" && !bytes.Contains(got, flag) || tc.nodeIP == "" && bytes.Contains(got, []byte("--node-ip")) {
				t.Errorf("%s\nthe archive has not %q", tc.reason, flag)
			}
			if has := bytes.Contains(got, []byte("ipv6/conf/all/forwarding")); has != (tc.nodeIP != "") {
				t.Errorf("%s\nthe node forwards IPv6: %t", tc.reason, has)
			}
			if without := must.Get(p.archive(nil))(t); tc.nodeIP == "" && !bytes.Equal(without, got) {
				t.Errorf("%s\nthe archive depends on the addresses", tc.reason)
			}
			if diff := gocmp.Diff(tc.published, s.publishedAddresses()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
