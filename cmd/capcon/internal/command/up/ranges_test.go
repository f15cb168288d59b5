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

package up_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// rangesWorld has a network of the engine, a host with a network of its own, and a proxy.
func rangesWorld(t *testing.T, lan, host, proxy, endpoint string) *commandtest.World {
	t.Helper()
	w := commandtest.New(t)
	w.UseEngine(simulated.New(simulated.WithInfo(engine.Info{Name: "docker", Endpoint: endpoint})))
	for name, subnet := range map[string]string{"capcon": "172.18.0.0/16", "lan": lan} {
		must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: name, Subnets: []netip.Prefix{netip.MustParsePrefix(subnet)}}))(t)
	}
	w.HostNetworks = []input.UsedRange{{Prefix: netip.MustParsePrefix(host), By: "route " + host + " of this host"}}
	w.Environment = map[string]string{"HTTPS_PROXY": proxy}
	return w
}

func TestRangesOfNewCluster(t *testing.T) {
	t.Parallel()
	const local, remote = "unix:///run/docker.sock", "ssh://other.example.com"
	cases := map[string]struct {
		reason                     string
		lan, host, proxy, endpoint string
		wantPods, wantServices     string
	}{
		"defaults":       {"Nothing overlaps them.", "192.168.0.0/24", "192.168.1.0/24", "http://192.168.1.1:3128", local, "10.244.0.0/16", "10.128.0.0/12"},
		"engine network": {"Listeners of its containers could not be reached.", "10.244.7.0/24", "192.168.1.0/24", "", local, "10.32.0.0/16", "10.128.0.0/12"},
		"route":          {"A VPN of the host.", "192.168.0.0/24", "10.0.0.0/8", "", local, "172.31.0.0/16", "172.30.0.0/16"},
		"route, remote":  {"It is of another host than the nodes.", "192.168.0.0/24", "10.0.0.0/8", "", remote, "10.244.0.0/16", "10.128.0.0/12"},
		"proxy":          {"Nodes use it.", "192.168.0.0/24", "192.168.1.0/24", "10.244.1.9:3128", local, "10.32.0.0/16", "10.128.0.0/12"},
		"proxy, remote":  {"Also there.", "192.168.0.0/24", "192.168.1.0/24", "http://joe:hunter2@10.130.1.9:3128", remote, "10.244.0.0/16", "10.96.0.0/16"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rangesWorld(t, tc.lan, tc.host, tc.proxy, tc.endpoint)
			w.RunUntilItWaits("up", "demo")
			ranges := w.Cluster().Spec.ClusterNetwork
			if got := ranges.Pods.String(); got != tc.wantPods {
				t.Errorf("%s Want Pods in %s, got %s", tc.reason, tc.wantPods, got)
			}
			if got := ranges.Services.String(); got != tc.wantServices {
				t.Errorf("%s Want Services in %s, got %s", tc.reason, tc.wantServices, got)
			}
		})
	}
}

// TestFamiliesOfNewCluster: each family gets a range, and a cluster with IPv6 is on a network of its own.
func TestFamiliesOfNewCluster(t *testing.T) {
	t.Parallel()
	const kind = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nname: demo\nnetworking: {ipFamily: ipv6}\n"
	cases := map[string]struct {
		reason                        string
		args                          []string
		pods, services, engineNetwork string
	}{
		"IPv4":       {"The default stays as it was.", []string{"demo"}, "10.244.0.0/16", "10.128.0.0/12", "capcon"},
		"IPv6":       {"A single family.", []string{"demo", "--ip-family", "ipv6"}, "fd00:10:244::/56", "fd00:10:96::/112", "capcon-ipv6"},
		"dual":       {"IPv4 is the primary one.", []string{"demo", "--ip-family", "dual"}, "10.244.0.0/16,fd00:10:244::/56", "10.128.0.0/12,fd00:10:96::/112", "capcon-ipv6"},
		"IPv6 first": {"As given.", []string{"demo", "--pod-cidr", "fd01::/56,10.1.0.0/16"}, "fd01::/56,10.1.0.0/16", "fd00:10:96::/112,10.128.0.0/12", "capcon-ipv6"},
		"network":    {"The user's.", []string{"demo", "--ip-family", "dual", "--network", "mine"}, "10.244.0.0/16,fd00:10:244::/56", "10.128.0.0/12,fd00:10:96::/112", "mine"},
		"kind":       {"Its files work unchanged.", []string{"-f", "-"}, "fd00:10:244::/56", "fd00:10:96::/112", "capcon-ipv6"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rangesWorld(t, "192.168.0.0/24", "192.168.1.0/24", "", "unix:///run/docker.sock")
			w.Input = strings.NewReader(kind)
			w.RunUntilItWaits(append([]string{"up"}, tc.args...)...)
			cluster := w.Cluster()
			got := []string{cluster.Spec.ClusterNetwork.Pods.String(), cluster.Spec.ClusterNetwork.Services.String(), ""}
			for _, variable := range cluster.Spec.Topology.Variables {
				if variable.Name == "network" {
					got[2] = string(variable.Value.Raw)
				}
			}
			if diff := cmp.Diff([]string{tc.pods, tc.services, `{"name":"` + tc.engineNetwork + `"}`}, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNetworkWithoutFamilyIsRefused: once it exists, the Cluster would have to be deleted.
func TestNetworkWithoutFamilyIsRefused(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{nil, {"--dry-run"}} {
		w := rangesWorld(t, "192.168.0.0/24", "10.1.2.0/24", "", "unix:///run/docker.sock")
		code, _, errs := w.Run(append([]string{"up", "demo", "--network", "capcon", "--ip-family", "dual"}, more...)...)
		if code != 1 || w.Plane.Created != 0 || len(w.Clusters()) > 0 {
			t.Errorf("Want exit code 1 and nothing created, got %d", code)
		}
		commandtest.Contains(t, errs, `--network "capcon"`, "has no IPv6 subnet", "such as capcon-ipv6")
	}
}

func TestGivenRangesThatOverlapAreRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, flag, value string
		words               []string
	}{
		"network":         {"Nodes could not distinguish Pods from Nodes.", "--pod-cidr", "172.18.0.0/20", []string{`subnet 172.18.0.0/16 of network "capcon"`}},
		"other network":   {"Its containers could not be reached.", "--pod-cidr", "192.168.0.0/16", []string{`subnet 192.168.0.0/24 of network "lan"`}},
		"route":           {"The LAN could not be reached.", "--pod-cidr", "10.1.0.0/16", []string{"route 10.1.2.0/24 of this host"}},
		"proxy":           {"No image could be pulled.", "--pod-cidr", "10.7.0.0/16", []string{"proxy 10.7.1.9 (HTTPS_PROXY)"}},
		"Services":        {"The same is true of Services.", "--service-cidr", "10.0.0.0/12", []string{"route 10.1.2.0/24 of this host", "such as 10.128.0.0/12"}},
		"Services, proxy": {"And of the proxy.", "--service-cidr", "10.7.0.0/16", []string{"proxy 10.7.1.9 (HTTPS_PROXY)"}},
	}
	for name, tc := range cases {
		for _, more := range [][]string{nil, {"--dry-run"}} {
			t.Run(name+strings.Join(more, ""), func(t *testing.T) {
				t.Parallel()
				w := rangesWorld(t, "192.168.0.0/24", "10.1.2.0/24", "http://joe:hunter2@10.7.1.9:3128", "unix:///run/docker.sock")
				code, out, errs := w.Run(append([]string{"up", "demo", tc.flag, tc.value}, more...)...)
				if code != 1 || strings.Contains(out+errs, "hunter2") {
					t.Errorf("%s Want exit code 1 and no secret, got %d:\n%s%s", tc.reason, code, out, errs)
				}
				commandtest.Contains(t, errs, append(tc.words, tc.flag, tc.value, "overlaps", "use another range")...)
				if w.Plane.Created != 0 || len(w.Clusters()) > 0 {
					t.Errorf("%s Nothing may be created", tc.reason)
				}
			})
		}
	}
}

// What a cluster was created with stays, whatever this host is connected to later.
func TestRangesOfAnExistingClusterStay(t *testing.T) {
	t.Parallel()
	w := rangesWorld(t, "192.168.0.0/24", "192.168.1.0/24", "", "unix:///run/docker.sock")
	w.Controllers = w.Become
	w.RunUntilItWaits("up", "demo")
	before := w.Cluster().Spec.ClusterNetwork
	w.HostNetworks = []input.UsedRange{{Prefix: netip.MustParsePrefix("10.0.0.0/8"), By: "a VPN"}}
	for _, args := range [][]string{{"up", "demo"}, {"up", "demo", "--pod-cidr", "10.244.0.0/16", "--service-cidr", "10.128.0.0/12"}} {
		w.MustRun(args...)
		if diff := cmp.Diff(before, w.Cluster().Spec.ClusterNetwork); diff != "" {
			t.Errorf("The ranges changed (-before +after)\n%s", diff)
		}
	}
}
