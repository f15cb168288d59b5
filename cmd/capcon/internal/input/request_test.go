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

package input

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestValidate is the list of what is refused: each case is what a user could
// type, and the field and words that the answer has to have.
func TestValidate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*Request)
		field  string
		words  []string
	}{
		"nothing given":       {"The defaults must be valid.", func(*Request) {}, "", nil},
		"no name":             {"A cluster needs a name.", func(r *Request) { r.Name = "" }, "NAME", []string{"must not be empty"}},
		"capitals":            {"Names become host names.", func(r *Request) { r.Name = "Demo" }, "NAME", []string{"DNS label", "lower case"}},
		"leading digit":       {"Names become names of services.", func(r *Request) { r.Name = "1demo" }, "NAME", []string{"letter"}},
		"41 characters":       {"Suffixes need room.", func(r *Request) { r.Name = strings.Repeat("a", 41) }, "NAME", []string{"41 characters", "40"}},
		"40 characters":       {"The bound itself is allowed.", func(r *Request) { r.Name = strings.Repeat("a", 40) }, "", nil},
		"limits":              {"Quantities of Kubernetes.", func(r *Request) { r.CPUs, r.Memory = "1500m", "4Gi" }, "", nil},
		"network of its own":  {"It is created.", func(r *Request) { r.Network = "mine" }, "", nil},
		"no control plane":    {"A cluster needs one.", func(r *Request) { r.ControlPlanes = ptr(0) }, "--control-planes", []string{"1, 3 or 5"}},
		"even":                {"Stacked etcd wants odd numbers.", func(r *Request) { r.ControlPlanes = ptr(2) }, "--control-planes", []string{"even", "1, 3 or 5"}},
		"eleven":              {"etcd slows down.", func(r *Request) { r.ControlPlanes = ptr(11) }, "--control-planes", []string{"etcd"}},
		"three":               {"The usual number.", func(r *Request) { r.ControlPlanes = ptr(3) }, "", nil},
		"no workers":          {"A cluster may have none.", func(r *Request) { r.Workers = ptr(0) }, "", nil},
		"negative workers":    {"There is no such number.", func(r *Request) { r.Workers = ptr(-2) }, "--workers", []string{"0 or more"}},
		"too many workers":    {"A typing error.", func(r *Request) { r.Workers = ptr(1000) }, "--workers", []string{"250"}},
		"old Kubernetes":      {"Below the known ones.", func(r *Request) { r.KubernetesVersion = "v1.33.9" }, "--kubernetes-version", []string{"older than v1.34", "v1.36.3"}},
		"new Kubernetes":      {"Above the known ones.", func(r *Request) { r.KubernetesVersion = "v1.38.0" }, "--kubernetes-version", []string{"newer", "v1.37.2, v1.36.4, v1.36.3, v1.35.8, v1.35.4, v1.34.11, v1.34.4"}},
		"other patch":         {"Patch releases are alike.", func(r *Request) { r.KubernetesVersion = "v1.35.99" }, "", nil},
		"without v":           {"It is understood.", func(r *Request) { r.KubernetesVersion = "1.36.3" }, "", nil},
		"only minor":          {"Images have patch versions.", func(r *Request) { r.KubernetesVersion = "v1.36" }, "--kubernetes-version", []string{"form v1.2.3"}},
		"latest":              {"No version.", func(r *Request) { r.KubernetesVersion = "latest" }, "--kubernetes-version", []string{"form v1.2.3", "use one of"}},
		"image":               {"Spaces are not allowed.", func(r *Request) { r.Image = "kindest node" }, "--image", []string{"invalid image reference"}},
		"CPUs in words":       {"It is no number.", func(r *Request) { r.CPUs = "two" }, "--cpus", []string{"such as 2"}},
		"memory in words":     {"Kubernetes has no GB.", func(r *Request) { r.Memory = "4GB" }, "--memory", []string{"such as 4Gi"}},
		"image in capitals":   {"Capitals are not allowed.", func(r *Request) { r.LoadBalancerImage = "HAProxy:3" }, "--load-balancer-image", []string{"lower case"}},
		"image of the plane":  {"The same rule.", func(r *Request) { r.PlaneImage = ":tag" }, "--plane-image", []string{"invalid image reference"}},
		"registry as URL":     {"It becomes part of a name.", func(r *Request) { r.Registry = "http://127.0.0.1:5000" }, "--registry", []string{"scheme", "HOST:PORT"}},
		"registry as word":    {"It would be read as a folder.", func(r *Request) { r.Registry = "mirror" }, "--registry", []string{"HOST:PORT"}},
		"registry":            {"The example.", func(r *Request) { r.Registry = "127.0.0.1:5000" }, "", nil},
		"no such manifest":    {"Found before anything is done.", func(r *Request) { r.CNI = "calico" }, "--cni", []string{"file not found", "flannel"}},
		"engine's network":    {"Nodes could not get their addresses there.", func(r *Request) { r.Network = "host" }, "--network", []string{"static addresses", "another network"}},
		"network":             {"The engine would refuse it.", func(r *Request) { r.Network = "my net" }, "--network", []string{"letters"}},
		"pod range":           {"Not CIDR.", func(r *Request) { r.PodCIDR = "10.0.0.0" }, "--pod-cidr", []string{"CIDR"}},
		"pod range with bits": {"A typing error.", func(r *Request) { r.PodCIDR = "10.0.0.1/16" }, "--pod-cidr", []string{"10.0.0.0/16"}},
		"small pod range":     {"Nodes take a /24 each.", func(r *Request) { r.PodCIDR = "10.0.0.0/25" }, "--pod-cidr", []string{"/24"}},
		"large service range": {"The API server's bound.", func(r *Request) { r.ServiceCIDR = "10.0.0.0/8" }, "--service-cidr", []string{"/12"}},
		"small service range": {"DNS has the tenth address.", func(r *Request) { r.ServiceCIDR = "10.97.0.0/29" }, "--service-cidr", []string{"/28", DefaultServiceCIDR}},
		"service range":       {"The tenth address is in it.", func(r *Request) { r.ServiceCIDR = "10.97.0.0/28" }, "", nil},
		"overlapping ranges": {
			"A service would shadow Pods.", func(r *Request) { r.PodCIDR, r.ServiceCIDR = "10.128.0.0/16", "10.128.0.0/12" },
			"--service-cidr", []string{"overlaps"},
		},
		"family":               {"A typing error.", func(r *Request) { r.IPFamily = "ipv5" }, "--ip-family", []string{"ipv4, ipv6 or dual"}},
		"dual":                 {"Defaults for both.", func(r *Request) { r.IPFamily = IPFamilyDual }, "", nil},
		"two ranges of one":    {"kubeadm would refuse them.", func(r *Request) { r.PodCIDR = "10.1.0.0/16,10.2.0.0/16" }, "--pod-cidr", []string{"same family", "10.2.0.0/16"}},
		"overlapping IPv6":     {"A service would shadow Pods.", func(r *Request) { r.PodCIDR, r.ServiceCIDR = "fd00::/56", "fd00::/112" }, "--service-cidr", []string{"overlaps"}},
		"large Services, IPv6": {"The API server's bound.", func(r *Request) { r.ServiceCIDR = "fd00:10:96::/64" }, "--service-cidr", []string{"/108"}},
		"small Pods, IPv6":     {"Nodes take a /64 each.", func(r *Request) { r.PodCIDR = "10.1.0.0/16,fd00::/96" }, "--pod-cidr", []string{"/64", "fd00::/96"}},
		"family of one range":  {"It lacks the other.", func(r *Request) { r.IPFamily, r.PodCIDR = IPFamilyDual, "10.1.0.0/16" }, "--pod-cidr", []string{"--ip-family is dual"}},
		"another family":       {"Only one can be meant.", func(r *Request) { r.IPFamily, r.ServiceCIDR = IPFamilyIPv4, "fd00::/112" }, "--service-cidr", []string{"IPv6", "--ip-family is ipv4"}},
		"another primary":      {"The API server and nodes would differ.", func(r *Request) { r.PodCIDR, r.ServiceCIDR = "fd00::/56,10.1.0.0/16", "10.96.0.0/16,fd01::/112" }, "--service-cidr", []string{"same order"}},
		"dual with IPv6 first": {"The order is the user's.", func(r *Request) { r.IPFamily, r.PodCIDR = IPFamilyDual, "fd00::/56, 10.1.0.0/16" }, "", nil},
		"timeout":              {"There is no such time.", func(r *Request) { r.Timeout = -time.Second }, "--timeout", []string{"negative"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := Request{Name: "demo", Timeout: 10 * time.Minute}
			tc.change(&request)
			err := request.Normalize().Validate()
			if tc.field == "" {
				if err != nil {
					t.Fatalf("%s Got: %v", tc.reason, err)
				}
				return
			}
			var refused *Error
			if !errors.As(err, &refused) || len(refused.Problems) != 1 || refused.Problems[0].Field != tc.field {
				t.Fatalf("%s Want one problem of %s, got: %v", tc.reason, tc.field, err)
			}
			for _, word := range tc.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s Want %q in: %v", tc.reason, word, err)
				}
			}
		})
	}
}

func TestValidateReportsAllTogether(t *testing.T) {
	t.Parallel()
	err := Request{Name: "Demo", ControlPlanes: ptr(2), KubernetesVersion: "v1.20.0"}.Validate()
	want := `invalid arguments:
  NAME "Demo": not a valid DNS label; use at most 40 lower case letters, digits and dashes, beginning with a letter, such as "demo"
  --control-planes "2": an even number of etcd members tolerates no additional failure; use an odd number, such as 1, 3 or 5
  --kubernetes-version "v1.20.0": is older than v1.34, the oldest supported version; use one of v1.37.2, v1.36.4, v1.36.3, v1.35.8, v1.35.4, v1.34.11, v1.34.4; for another patch version, use --image`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error differs (-want +got):\n%s", diff)
	}
}

func TestCheckUpgrade(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason          string
		present, wanted string
		refused         bool
	}{
		"not given":  {"An unset flag changes nothing.", "v1.35.4", "", false},
		"the same":   {"Running up again is harmless.", "v1.36.3", "v1.36.3", false},
		"one minor":  {"The way Kubernetes supports.", "v1.35.4", "v1.36.3", false},
		"two minors": {"Kubernetes does not support it.", "v1.34.4", "v1.36.3", true},
		"back":       {"Kubernetes does not support it.", "v1.36.3", "v1.36.2", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if problems := (Request{KubernetesVersion: tc.wanted}).CheckUpgrade(tc.present); (len(problems) > 0) != tc.refused {
				t.Errorf("%s Got: %v", tc.reason, problems)
			}
		})
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, pods, services, used string
		wantPods, wantServices       string
		refused                      []string
	}{
		"free":           {"The defaults where nothing speaks against them.", "", "", "172.18.0.0/16 192.168.1.0/24", "10.244.0.0/16", "10.128.0.0/12", nil},
		"taken":          {"A host with Kubernetes of its own.", "", "", "10.244.0.0/24 10.130.0.0/16", "10.32.0.0/16", "10.96.0.0/16", nil},
		"all of 10":      {"A VPN.", "", "", "10.0.0.0/8", "172.31.0.0/16", "172.30.0.0/16", nil},
		"all private":    {"A VPN of a large company.", "", "", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16", "100.64.0.0/16", "100.96.0.0/16", nil},
		"given":          {"They are free.", "10.1.0.0/16", "10.2.0.0/16", "10.244.0.0/16", "10.1.0.0/16", "10.2.0.0/16", nil},
		"given Pods":     {"Services make way.", "10.136.0.0/16", "", "", "10.136.0.0/16", "10.96.0.0/16", nil},
		"given Services": {"Pods make way.", "", "10.244.0.0/20", "", "10.32.0.0/16", "10.244.0.0/20", nil},
		"given and taken": {
			"What is there could not be reached.", "192.168.0.0/16", "10.2.0.0/16", "192.168.1.0/24 10.2.3.0/24", "", "",
			[]string{
				`--pod-cidr "192.168.0.0/16": overlaps 192.168.1.0/24; omit it, or use another range, such as 10.244.0.0/16`,
				`--service-cidr "10.2.0.0/16": overlaps 10.2.3.0/24; omit it, or use another range, such as 10.128.0.0/12`,
			},
		},
		"none": {
			"The user may know one.", "", "10.2.0.0/16", "10.0.0.0/9 10.128.0.0/9 172.16.0.0/12 100.64.0.0/10 198.18.0.0/15", "", "",
			[]string{
				"--pod-cidr: no free address range found; set one that is free",
				`--service-cidr "10.2.0.0/16": overlaps 10.0.0.0/9; use another range`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var used []UsedRange
			for _, text := range strings.Fields(tc.used) {
				used = append(used, UsedRange{Prefix: netip.MustParsePrefix(text), By: text})
			}
			pods, services, err := Ranges(Request{PodCIDR: tc.pods, ServiceCIDR: tc.services}, used)
			var refused []string
			for _, problem := range Problems(err) {
				refused = append(refused, problem.String())
			}
			if diff := cmp.Diff(tc.refused, refused); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			if err == nil && (pods != tc.wantPods || services != tc.wantServices) {
				t.Errorf("%s Want %s and %s, got %s and %s", tc.reason, tc.wantPods, tc.wantServices, pods, services)
			}
		})
	}
}

// TestRangesOfFamilies: a cluster gets a range of each of its families, in their order.
func TestRangesOfFamilies(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason                 string
		request                Request
		wantPods, wantServices string
	}{
		"IPv6":           {"As kind.", Request{IPFamily: IPFamilyIPv6}, DefaultPodCIDRv6, DefaultServiceCIDRv6},
		"dual":           {"As kind.", Request{IPFamily: IPFamilyDual}, DefaultPodCIDR + "," + DefaultPodCIDRv6, DefaultServiceCIDR + "," + DefaultServiceCIDRv6},
		"IPv6 first":     {"The order of the given ranges.", Request{PodCIDR: "fd02::/56, 10.1.0.0/16"}, "fd02::/56,10.1.0.0/16", DefaultServiceCIDRv6 + "," + DefaultServiceCIDR},
		"of Services":    {"Ranges of one decide those of the other.", Request{ServiceCIDR: "fd02::/112"}, DefaultPodCIDRv6, "fd02::/112"},
		"fewer Services": {"Kubernetes allows it.", Request{PodCIDR: "10.1.0.0/16,fd02::/56", ServiceCIDR: "10.2.0.0/16"}, "10.1.0.0/16,fd02::/56", "10.2.0.0/16"},
		"taken by Pods":  {"Services make way.", Request{PodCIDR: "fd00:10::/32"}, "fd00:10::/32", "fd00:32:96::/112"},
	}
	for name, tc := range cases {
		pods, services, err := Ranges(tc.request, nil)
		if err != nil || pods != tc.wantPods || services != tc.wantServices {
			t.Errorf("%s: %s Want %s and %s, got %s and %s, %v", name, tc.reason, tc.wantPods, tc.wantServices, pods, services, err)
		}
	}
	used := []UsedRange{{Prefix: netip.MustParsePrefix("fd00:10::/32"), By: "a VPN"}}
	if pods, services, err := Ranges(Request{IPFamily: IPFamilyDual}, used); err != nil || pods != DefaultPodCIDR+",fd00:32:244::/56" || services != DefaultServiceCIDR+",fd00:32:96::/112" {
		t.Errorf("with a VPN: %s and %s, %v", pods, services, err)
	}
}

func ptr(n int) *int { return &n }

// TestCheckCapacity: each node gets a part of the range, also the one that a rollout adds.
func TestCheckCapacity(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		cidr   string
		// most are the nodes that the range has room for.
		most int
	}{
		"one part":    {"It is that of the control plane, which nothing could replace.", "10.201.0.0/24", 0},
		"two parts":   {"One is left for a rollout.", "10.201.0.0/23", 1},
		"eight parts": {"Seven nodes and a rollout.", "10.201.0.0/21", 7},
		"IPv6":        {"A node has a /64.", "fd00:10::/62", 3},
		"dual":        {"A node needs both.", "10.244.0.0/16,fd00:10::/62", 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if reason := CheckCapacity(tc.cidr, tc.most); tc.most > 0 && reason != "" {
				t.Errorf("%s %d nodes are refused: %s", tc.reason, tc.most, reason)
			}
			if CheckCapacity(tc.cidr, tc.most+1) == "" {
				t.Errorf("%s %d nodes are accepted", tc.reason, tc.most+1)
			}
		})
	}
	if reason := CheckCapacity(DefaultPodCIDR, 5+250) + CheckCapacity("fd00::/8", 1000) + CheckCapacity("10.244.0.0/16,fd00::/56", 255); reason != "" {
		t.Errorf("a large range is refused: %s", reason)
	}
}

func TestCheckManifest(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: net\n#"
	for size, want := range map[int]bool{1 << 20: true, 1<<20 + 1: false} {
		if problems := CheckManifest("cni.yaml", object+strings.Repeat("-", size-len(object))); (len(problems) == 0) != want {
			t.Errorf("%d bytes: %v", size, problems)
		}
	}
}
