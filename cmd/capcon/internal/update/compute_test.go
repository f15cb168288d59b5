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

package update

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// requests are all flags that change a cluster, with what the engine has for them.
var requests = map[string]struct {
	request input.Request
	chosen  Chosen
}{
	"nothing":             {},
	"control-planes":      {request: input.Request{ControlPlanes: ptr.To(5)}},
	"workers":             {request: input.Request{Workers: ptr.To(4)}},
	"kubernetes-version":  {input.Request{KubernetesVersion: "v1.37.2"}, Chosen{NodeImage: "node:v1.37.2"}},
	"the same version":    {request: input.Request{KubernetesVersion: "v1.36.3"}},
	"image":               {input.Request{Image: "node:other"}, Chosen{NodeImage: "node:other"}},
	"load-balancer-image": {input.Request{LoadBalancerImage: "haproxy:other"}, Chosen{LoadBalancerImage: "haproxy:other"}},
	"registry":            {input.Request{Registry: "r:5000"}, Chosen{NodeImage: "r:5000/node", LoadBalancerImage: "r:5000/haproxy"}},
	"cpus":                {request: input.Request{CPUs: "2"}},
	"memory":              {request: input.Request{Memory: "3Gi"}},
	"memory none":         {request: input.Request{Memory: input.None}},
	"network":             {request: input.Request{Network: "other"}},
	"ip-family":           {request: input.Request{IPFamily: input.IPFamilyDual}},
	"pod-cidr":            {request: input.Request{PodCIDR: "10.1.0.0/16"}},
	"service-cidr":        {request: input.Request{ServiceCIDR: "10.2.0.0/16"}},
	"cni":                 {input.Request{CNI: "flannel"}, Chosen{PodNetwork: "kind: Flannel"}},
	"immutable, the same": {request: input.Request{Network: "capcon", PodCIDR: "192.168.0.0/16", ServiceCIDR: "10.128.0.0/12"}},
}

const variables = "/spec/topology/variables"

// Each flag changes exactly what it names, in clusters that capcon did not create or has
// created before. Everything else stays byte for byte.
// addedRoles are the paths of a limit of both roles in a variable that was not set.
func addedRoles(at int, limit string) []string {
	variable := fmt.Sprintf("/spec/topology/variables/%d", at)
	return []string{variable + "/name", variable + "/value/controlPlane/" + limit, variable + "/value/workers/" + limit}
}

func TestEachFlagChangesWhatItNames(t *testing.T) {
	t.Parallel()
	const (
		controlPlanes = "/spec/topology/controlPlane/replicas"
		workers       = "/spec/topology/workers/machineDeployments/0/replicas"
		version       = "/spec/topology/version"
	)
	// refused by the flag's name; otherwise the paths that change.
	always := map[string][]string{
		"nothing": nil, "the same version": nil, "immutable, the same": nil, "control-planes": {controlPlanes},
		"network": {"--network"}, "ip-family": {"--ip-family"}, "pod-cidr": {"--pod-cidr"}, "service-cidr": {"--service-cidr"}, "cni": {"--cni"},
	}
	cases := map[string]struct {
		reason  string
		present Present
		want    map[string][]string
	}{
		"kubectl": {
			"Made by hand from the class: it has variables and keys that capcon does not know.", file(t, "kubectl.yaml"),
			map[string][]string{
				"workers": {workers}, "kubernetes-version": {version, variables + "/2/value/v1.37.2"},
				"image":               {variables + "/2/value/v1.36.3"},
				"load-balancer-image": {variables + "/1/value/image"},
				"registry":            {variables + "/1/value/image", variables + "/2/value/v1.36.3"},
				"cpus":                addedRoles(5, "cpu"), "memory": {variables + "/3/value/memory"},
				"memory none": {variables + "/3/value/memory"},
			},
		},
		"several": {
			"It has several MachineDeployments, and no variables.", file(t, "several.yaml"),
			map[string][]string{
				"workers":            {"--workers"},
				"kubernetes-version": {version, variables + "/0/name", variables + "/0/value/v1.37.2"},
				"image":              {variables + "/0/name", variables + "/0/value/v1.36.3"}, "load-balancer-image": {variables + "/0/name", variables + "/0/value/image"},
				"registry": {variables + "/0/name", variables + "/0/value/image", variables + "/1/name", variables + "/1/value/v1.36.3"},
				"cpus":     addedRoles(0, "cpu"), "memory": addedRoles(0, "memory"), "memory none": nil,
			},
		},
		"earlier": {
			"An earlier version of capcon created it.", file(t, "earlier.yaml"),
			map[string][]string{
				"workers": {workers}, "kubernetes-version": {version, variables + "/0/value/v1.37.2"},
				"image": {variables + "/0/value/v1.36.3"}, "load-balancer-image": {variables + "/1/value/image"},
				"registry": {variables + "/0/value/v1.36.3", variables + "/1/value/image"},
				"cpus":     addedRoles(5, "cpu"), "memory": {variables + "/3/value/memory"},
				// The only key: an empty object is not valid. What follows moves up.
				"memory none": {variables + "/3/name", variables + "/3/value/0/name", variables + "/3/value/0/value", variables + "/3/value/memory", variables + "/4/name", variables + "/4/value/0/name", variables + "/4/value/0/value"},
			},
		},
		"flavor topology": {
			"clusterctl generated it from a template.", flavor(t, "cluster-template-topology.yaml"),
			map[string][]string{
				"workers": {workers}, "kubernetes-version": {version, variables + "/0/value/v1.37.2"},
				"image": {variables + "/0/value/v1.36.3"}, "load-balancer-image": {variables + "/1/value/image"},
				"registry": {variables + "/0/value/v1.36.3", variables + "/1/value/image"},
				"cpus":     addedRoles(5, "cpu"), "memory": addedRoles(5, "memory"), "memory none": nil,
			},
		},
		"foreign class": {
			"Its class has none of the variables.", foreignClass(file(t, "kubectl.yaml")),
			map[string][]string{
				"workers": {workers}, "kubernetes-version": {version},
				"image": {"--image"}, "load-balancer-image": {"--load-balancer-image"}, "registry": {"--registry", "--registry"},
				"cpus": {"--cpus"}, "memory": {"--memory"}, "memory none": {"--memory"},
			},
		},
	}
	for name, tc := range cases {
		for flags, given := range requests {
			t.Run(name+"/"+flags, func(t *testing.T) {
				t.Parallel()
				want, known := tc.want[flags]
				if !known {
					want = always[flags]
				}
				want = slices.Sorted(slices.Values(want))
				if diff := cmp.Diff(want, changed(t, tc.present, given.request, given.chosen)); diff != "" {
					t.Errorf("%s Changed or refused (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// A Cluster without a topology is changed through other objects.
func TestWithoutTopologyIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cluster-template.yaml", "cluster-template-machine-pool.yaml", "cluster-template-ignition.yaml"} {
		for flags, given := range requests {
			switch flags {
			case "nothing", "immutable, the same":
				if got := changed(t, flavor(t, name), given.request, given.chosen); got != nil {
					t.Errorf("%s: %s changes or refuses %v", name, flags, got)
				}
			default:
				flag := "--" + strings.Fields(flags)[0]
				if flags == "the same version" {
					flag = "--kubernetes-version"
				}
				_, err := Compute(flavor(t, name), given.request, given.chosen)
				if got := input.Problems(err); len(got) != 1 || got[0].Field != flag || got[0].Remedy == "" {
					t.Errorf("%s: %s is refused with %v", name, flags, err)
				}
			}
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	stopped := file(t, "earlier.yaml")
	stopped.Cluster.Annotations = map[string]string{infrav1.StoppedAnnotation: ""}
	interrupted := file(t, "earlier.yaml")
	interrupted.Unowned = []string{"ConfigMap demo-cni"}
	cases := map[string]struct {
		reason  string
		present Present
		request input.Request
		chosen  Chosen
		want    string
		consent bool
	}{
		"nothing": {
			"There is nothing to write.", file(t, "kubectl.yaml"), input.Request{}, Chosen{},
			"change  nothing", false,
		},
		"rolls all": {
			"All machines get the version.", file(t, "earlier.yaml"), input.Request{KubernetesVersion: "v1.37.2"}, Chosen{NodeImage: "node:v1.37.2"},
			`change  Cluster demo, spec.topology.version: "v1.36.3" -> "v1.37.2"
change  Cluster demo, spec.topology.variables[nodeImages].value[v1.37.2]: not set -> "node:v1.37.2"
replace Machine control-plane-0 (spec.topology.version, spec.topology.variables[nodeImages].value[v1.37.2])
replace Machine worker-0 (spec.topology.version, spec.topology.variables[nodeImages].value[v1.37.2])`, false,
		},
		"resizes": {
			"A MachineDeployment with its own limits keeps them.", file(t, "several.yaml"), input.Request{Memory: "3Gi"}, Chosen{},
			`change  Cluster demo, spec.topology.variables[roleResources].value[controlPlane]: not set -> {"memory":"3Gi"}
change  Cluster demo, spec.topology.variables[roleResources].value[workers]: not set -> {"memory":"3Gi"}
update  Machine control-plane-0 in place (spec.topology.variables[roleResources].value[controlPlane])
update  Machine control-plane-1 in place (spec.topology.variables[roleResources].value[controlPlane])
update  Machine control-plane-2 in place (spec.topology.variables[roleResources].value[controlPlane])
update  Machine worker-0 in place (spec.topology.variables[roleResources].value[workers])
warning the Machines of MachineDeployment large have memory of their own, and keep it`, false,
		},
		"rolls none": {
			"The load balancer is no Machine.", file(t, "earlier.yaml"), input.Request{LoadBalancerImage: "haproxy:3"}, Chosen{LoadBalancerImage: "haproxy:3"},
			`change  Cluster demo, spec.topology.variables[loadBalancer].value[image]: "localhost/capcon/haproxy:2.6" -> "haproxy:3"`, false,
		},
		"another spelling": {
			"The limit is the same.", file(t, "earlier.yaml"), input.Request{Memory: "4096Mi"}, Chosen{},
			"change  nothing", false,
		},
		"scale down": {
			"Machines are deleted.", file(t, "kubectl.yaml"), input.Request{Workers: ptr.To(1)}, Chosen{},
			`change  Cluster demo, spec.topology.workers.machineDeployments[pool-a].replicas: 2 -> 1
delete  Machine pool-a-0 of MachineDeployment pool-a`, true,
		},
		"no worker left": {
			"Nothing runs Pods any more.", file(t, "earlier.yaml"), input.Request{Workers: ptr.To(0)}, Chosen{},
			`change  Cluster demo, spec.topology.workers.machineDeployments[worker].replicas: 1 -> 0
delete  Machine worker-0 of MachineDeployment worker
warning no worker is left, and control planes take no Pods: Pods stay Pending until there is a worker`, true,
		},
		"scale up": {
			"Nothing is lost.", file(t, "earlier.yaml"), input.Request{Workers: ptr.To(2), ControlPlanes: ptr.To(3)}, Chosen{},
			`change  Cluster demo, spec.topology.controlPlane.replicas: 1 -> 3
change  Cluster demo, spec.topology.workers.machineDeployments[worker].replicas: 1 -> 2`, false,
		},
		"stopped": {
			"It is started.", stopped, input.Request{}, Chosen{},
			`change  Cluster demo, metadata.annotations[` + infrav1.StoppedAnnotation + `]: "" -> not set`, false,
		},
		"interrupted creation": {
			"It is continued.", interrupted, input.Request{}, Chosen{},
			`change  ConfigMap demo-cni, metadata.ownerReferences: not set -> "Cluster demo"`, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := must.Get(Compute(tc.present, tc.request, tc.chosen))(t).WithVolumes(nil, nil)
			var lines []string
			for line := range strings.Lines(plan.String()) {
				if verb, rest, found := strings.Cut(strings.TrimSpace(line), " "); found && strings.HasPrefix(line, "  ") {
					lines = append(lines, fmt.Sprintf("%-7s %s", verb, strings.TrimSpace(rest)))
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(lines, "\n")); diff != "" || plan.NeedsConsent != tc.consent {
				t.Errorf("%s Consent: %t, plan (-want +got):\n%s", tc.reason, plan.NeedsConsent, diff)
			}
			if plan.IsEmpty() != (len(plan.Changes) == 0) {
				t.Errorf("%s It is empty: %t", tc.reason, plan.IsEmpty())
			}
		})
	}
}

func TestPodRangeIsLargeEnough(t *testing.T) {
	t.Parallel()
	present := file(t, "earlier.yaml")
	present.Cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.201.0.0/22"} // four nodes
	for workers, want := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		_, err := Compute(present, input.Request{Workers: &workers}, Chosen{})
		problems := input.Problems(err)
		if (err == nil) != want || !want && (problems[0].Field != "--workers" || !strings.Contains(problems[0].Reason, "10.201.0.0/22")) {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	present := file(t, "earlier.yaml")
	plan := must.Get(Compute(present, input.Request{Workers: ptr.To(3)}, Chosen{}))(t)
	present.Cluster.ResourceVersion = "8"
	later := must.Get(Compute(present, input.Request{Workers: ptr.To(3)}, Chosen{}))(t)
	if !later.Same(plan) {
		t.Error("A change of the status makes another plan")
	}
	present.Cluster.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](2)
	if later = must.Get(Compute(present, input.Request{Workers: ptr.To(3)}, Chosen{}))(t); later.Same(plan) {
		t.Error("A change from 2 is the same as one from 1")
	}
}
