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

package identity

import (
	"regexp"
	"strings"
	"testing"
)

// apiName is what the names of API objects match: DNS subdomains.
var apiName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// engineName is what Docker and Podman accept, as one DNS label.
var engineName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func TestShorten(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 70)
	cases := map[string]struct {
		reason, name string
		max          int
		want         string
	}{
		"Fits":   {"What fits stays.", "demo", 63, "demo"},
		"Exact":  {"The limit is included.", "abcdef", 6, "abcdef"},
		"Cut":    {"What does not fit ends in a hash of the whole.", long, 63, long[:54] + "-" + hash(long)},
		"Hyphen": {"The beginning does not end in a separator.", "ab.-" + long, 13, "ab-" + hash("ab.-"+long)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Shorten(tc.name, tc.max); got != tc.want {
				t.Errorf("%s\nShorten = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestHostName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 62)
	if got := HostName("demo-worker-0"); got != "demo-worker-0" {
		t.Errorf("HostName = %q, want the machine's name", got)
	}
	one, two := HostName(long+"-1"), HostName(long+"-2")
	if one == two || len(one) > MaxLength || len(two) > MaxLength {
		t.Errorf("HostName gives %q and %q for two machines", one, two)
	}
}

func TestContainerNames(t *testing.T) {
	t.Parallel()
	owner := Owner{Namespace: "default", Cluster: "demo", ID: "one"}
	long := Owner{Namespace: "default", Cluster: strings.Repeat("c", 60), ID: "one"}
	cases := map[string]struct {
		reason, got, begins string
	}{
		"Machine":      {"A machine that is named after its cluster does not repeat it.", owner.NodeContainer("demo-worker-0"), "demo-worker-0-"},
		"OtherName":    {"A machine of another name gets its cluster's name as a prefix.", owner.NodeContainer("worker"), "demo-worker-"},
		"SamePrefix":   {"The cluster's name is a word of its own.", owner.NodeContainer("demonstration"), "demo-demonstration-"},
		"Dots":         {"A container's name is a DNS label.", owner.NodeContainer("demo-0.example"), "demo-0-example-"},
		"Long":         {"The hash is never cut.", long.NodeContainer("worker"), strings.Repeat("c", 50)},
		"LoadBalancer": {"Users recognize the load balancer too.", owner.LoadBalancerContainer(), "demo-lb-"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.HasPrefix(tc.got, tc.begins) || len(tc.got) > MaxLength || !engineName.MatchString(tc.got) {
				t.Errorf("%s\nname %q, want it to begin with %q", tc.reason, tc.got, tc.begins)
			}
		})
	}
}

func TestContainerNamesDiffer(t *testing.T) {
	t.Parallel()
	owner := Owner{Namespace: "default", Cluster: "demo", ID: "one"}
	seen := map[string]string{}
	for what, name := range map[string]string{
		"a machine":                        owner.NodeContainer("demo-lb"),
		"the load balancer":                owner.LoadBalancerContainer(),
		"that of another namespace":        Owner{Namespace: "other", Cluster: "demo", ID: "one"}.LoadBalancerContainer(),
		"that of another management":       Owner{Namespace: "default", Cluster: "demo", ID: "two"}.LoadBalancerContainer(),
		"a machine with a dot":             owner.NodeContainer("demo.lb"),
		"the machine of another cluster":   Owner{Namespace: "default", Cluster: "demo-lb", ID: "one"}.NodeContainer("demo-lb"),
		"the machine of another namespace": Owner{Namespace: "other", Cluster: "demo", ID: "one"}.NodeContainer("demo-lb"),
	} {
		if other, found := seen[name]; found {
			t.Errorf("%s and %s are both named %q", what, other, name)
		}
		seen[name] = what
	}
}

// FuzzNames proves what engines and host names demand, for all names that API
// objects can have, and the round trip of the provider ID.
func FuzzNames(f *testing.F) {
	f.Add("default", "demo", "one", "demo-worker-0")
	f.Add("default", "c", "", strings.Repeat("a.", 100)+"a")
	f.Add("n", strings.Repeat("c", 253), "x", "lb")
	f.Fuzz(func(t *testing.T, namespace, cluster, id, machine string) {
		for _, name := range []string{namespace, cluster, machine} {
			if len(name) > 253 || !apiName.MatchString(name) {
				t.Skip()
			}
		}
		owner := Owner{Namespace: namespace, Cluster: cluster, ID: id}
		for _, name := range []string{owner.NodeContainer(machine), owner.LoadBalancerContainer()} {
			if len(name) > MaxLength || !engineName.MatchString(name) {
				t.Errorf("container name %q", name)
			}
			if got, err := ParseProviderID(ProviderID(name)); err != nil || got != name {
				t.Errorf("provider ID of %q gives %q, %v", name, got, err)
			}
		}
		if owner.NodeContainer(machine) == owner.LoadBalancerContainer() {
			t.Errorf("machine %q has the load balancer's name", machine)
		}
		if host := HostName(machine); len(host) > MaxLength || !apiName.MatchString(host) {
			t.Errorf("host name %q", host)
		}
		labels := owner.ContainerLabels(RoleWorker, machine)
		if owner.Owns(labels) != (id != "") {
			t.Errorf("%+v does not own its own labels", owner)
		}
		for _, other := range []Owner{
			{Namespace: namespace + "x", Cluster: cluster, ID: id},
			{Namespace: namespace, Cluster: cluster + "x", ID: id},
			{Namespace: namespace, Cluster: cluster, ID: id + "x"},
		} {
			if other.Owns(labels) {
				t.Errorf("%+v owns what is of %+v", other, owner)
			}
		}
	})
}
