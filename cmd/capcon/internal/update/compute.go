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
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Present is a cluster as it was read.
type Present struct {
	Cluster *clusterv1.Cluster
	// Class of its topology; nil where it was not found.
	Class *clusterv1.ClusterClass
	// Machines of the cluster.
	Machines []clusterv1.Machine
	// Engine is the name of the ContainerEngine that it is on; empty = it is on the engine of the management cluster.
	Engine string
	// Engines are the names of all ContainerEngines of a cluster over several, of which Engine has its load balancer; empty = it is on one.
	Engines []string
	// Network of the engine that it is on; empty until it is known.
	Network string
	// PodNetwork is the manifest that capcon applies to it; empty = none.
	PodNetwork string
	// Extensions are the names of the ExtensionConfigs that answer for the namespace of the cluster whether Machines can be
	// updated in place.
	Extensions []string
	// Unowned are objects of capcon that an interrupted creation left without the Cluster as
	// their owner, such as "ConfigMap demo-cni".
	Unowned []string
}

// Chosen is what the request means on this engine. What it does not name is empty.
type Chosen struct {
	// NodeImage of --image or --registry, or the one of a version that the cluster has none for.
	NodeImage string
	// LoadBalancerImage of --load-balancer-image or --registry.
	LoadBalancerImage string
	// PodNetwork is the manifest of --cni; empty with none and auto.
	PodNetwork string
}

// NeedsNodeImage reports whether the request needs a node image to be chosen, and for which
// version of Kubernetes: one is named, or the version changes to one that the Cluster has no
// image for.
func (p Present) NeedsNodeImage(request input.Request) (version string, needed bool) {
	c := &computation{Present: p, topology: p.Cluster.Spec.Topology}
	version = cmp.Or(request.KubernetesVersion, c.topology.Version)
	if request.Image != "" || request.Registry != "" {
		return version, version != ""
	}
	known := c.keys(objects.NodeImagesVariable)[version]
	return version, version != c.topology.Version && c.takes(objects.NodeImagesVariable, version) && (known == nil || string(known) == `""`)
}

// computation of a plan.
type computation struct {
	Present
	request  input.Request
	chosen   Chosen
	topology clusterv1.Topology
	plan     Plan
	problems []input.Problem
	// edits of variables, in order.
	edits []edit
	// growth is how many nodes more there are after the changes.
	growth int32
	// shrunk are the owners that are scaled down.
	shrunk []scaled
	// replaced has the fields that are the reason for the replacement of each Machine.
	replaced map[Machine][]string
	// inPlace has those that are the reason for a change of each Machine that remains.
	inPlace map[Machine][]string
	// updatable are the changes that running nodes of a role can get.
	updatable map[rolled]bool
}

// Compute the plan of a request. A request that the cluster cannot fulfil: *input.Error.
func Compute(present Present, request input.Request, chosen Chosen) (Plan, error) {
	c := &computation{
		Present: present, request: request, chosen: chosen, topology: present.Cluster.Spec.Topology,
		plan:     Plan{Cluster: present.Cluster.Name, Changes: []Change{}, ResourceVersion: present.Cluster.ResourceVersion},
		replaced: map[Machine][]string{}, inPlace: map[Machine][]string{}, updatable: map[rolled]bool{},
	}
	c.checkImmutable()
	if c.topology.IsDefined() {
		c.version()
		c.counts()
		c.variables()
		c.file()
		c.checkCapacity()
	} else {
		c.refuseWithoutTopology()
	}
	if err := input.Refuse(c.problems...); err != nil {
		return Plan{}, err
	}
	c.start()
	for _, object := range present.Unowned {
		c.plan.Changes = append(c.plan.Changes, Change{
			Object: object, Field: "metadata.ownerReferences", New: text("Cluster " + present.Cluster.Name),
		})
	}
	for _, owner := range c.shrunk {
		c.plan.Deleted = append(c.plan.Deleted, c.deletion(owner))
	}
	c.updateInPlace()
	c.plan.Replaced = merged(c.replaced)
	maps.DeleteFunc(c.inPlace, func(machine Machine, _ []string) bool { return c.replaced[machine] != nil })
	c.plan.InPlace = merged(c.inPlace)
	c.plan.NeedsConsent = len(c.plan.Deleted) > 0
	return c.plan, nil
}

func (c *computation) refuse(flag, value, reason, remedy string) {
	c.problems = append(c.problems, input.Problem{Field: flag, Value: value, Reason: reason, Remedy: remedy})
}

// checkImmutable refuses what an existing cluster cannot change.
func (c *computation) checkImmutable() {
	const remedy = "keep that, or create another cluster"
	for _, field := range []struct{ flag, present, requested string }{
		{"--network", cmp.Or(c.Network, c.networkVariable(), network.DefaultName), c.request.Network},
		{"--ip-family", c.ipFamily(), c.request.IPFamily},
		{"--pod-cidr", c.Cluster.Spec.ClusterNetwork.Pods.String(), c.request.PodCIDR},
		{"--service-cidr", c.Cluster.Spec.ClusterNetwork.Services.String(), c.request.ServiceCIDR},
	} {
		if field.requested != "" && field.requested != field.present {
			c.refuse(field.flag, field.requested, "immutable, the cluster has "+cmp.Or(field.present, "none"), remedy)
		}
	}
	if requested := c.request.EngineName; requested != "" && requested != c.Engine {
		on := "the engine of the management plane"
		if c.Engine != "" {
			on = fmt.Sprintf("engine %q", c.Engine)
		}
		c.refuse("--engine-name", requested, "immutable, the cluster is on "+on, remedy)
	}
	if requested := c.request.EngineNames; len(requested) > 0 && !sets.New(requested...).Equal(sets.New(c.Engines...)) {
		c.refuse("--engines", strings.Join(requested, ","), "the cluster is on "+cmp.Or(strings.Join(c.Engines, ","), "one engine"),
			"omit it; to add an engine, change the variable engineNames of the Cluster with kubectl")
	}
	same := true
	byImage := string(c.variable("cni")) == `"default"`
	switch c.request.CNI {
	case "":
	case input.CNINone:
		same = c.PodNetwork == "" && !byImage
	case input.CNIAuto:
		same = c.PodNetwork != "" || byImage
	default:
		same = c.PodNetwork == c.chosen.PodNetwork
	}
	if !same {
		c.refuse("--cni", c.request.CNI, "immutable, the cluster was created with another Pod network",
			"omit the flag and change the Pod network in the cluster with kubectl, or create another cluster")
	}
}

// ipFamily of the cluster, as the flag has it; empty if its ranges are invalid.
func (c *computation) ipFamily() string {
	ranges := c.Cluster.Spec.ClusterNetwork
	families, err := network.FamiliesOf(ranges.Pods.CIDRBlocks, ranges.Services.CIDRBlocks)
	if err != nil {
		return ""
	}
	return input.IPFamilyOf(families)
}

// networkVariable names the network of a cluster whose ContainerCluster is not there yet.
func (c *computation) networkVariable() (name string) {
	_ = json.Unmarshal(c.keys(objects.NetworkVariable)["name"], &name)
	return name
}

// kubectl is how to change the management cluster's objects.
const kubectl = ` (kubeconfig: "capcon kubeconfig --management")`

func (c *computation) refuseWithoutTopology() {
	edit := func(what string) string { return what + " with kubectl" + kubectl }
	template := edit("roll out a new ContainerMachineTemplate")
	for _, flag := range []struct{ name, value, remedy string }{
		{"--control-planes", count(c.request.ControlPlanes), edit("scale the KubeadmControlPlane")},
		{"--workers", count(c.request.Workers), edit("scale its MachineDeployment or MachinePool")},
		{"--kubernetes-version", c.request.KubernetesVersion, edit("set the version of the KubeadmControlPlane, then of the workers,")},
		{"--image", c.request.Image, template},
		{"--registry", c.request.Registry, template},
		{"--cpus", c.request.CPUs, template},
		{"--memory", c.request.Memory, template},
		{"--load-balancer-image", c.request.LoadBalancerImage, edit("set spec.loadBalancer.image of the ContainerCluster")},
	} {
		if flag.value != "" {
			c.refuse(flag.name, flag.value, "the Cluster has no topology (spec.topology) to change", flag.remedy)
		}
	}
}

// count is a number of a flag; empty where it is not set.
func count(value *int) string {
	if value == nil {
		return ""
	}
	return strconv.Itoa(*value)
}

func (c *computation) version() {
	desired := c.request.KubernetesVersion
	c.problems = append(c.problems, c.request.CheckUpgrade(c.topology.Version)...)
	if desired == "" || desired == c.topology.Version {
		return
	}
	const field = "spec.topology.version"
	c.change(field, "/spec/topology/version", text(c.topology.Version), text(desired))
	c.replaceMachines(field, "")
}

// counts of control planes and workers.
func (c *computation) counts() {
	if desired := c.request.ControlPlanes; desired != nil {
		c.scale(scaled{
			owner: c.controlPlane(), present: c.topology.ControlPlane.Replicas, desired: int32(*desired), //nolint:gosec // validated to be small
			field: "spec.topology.controlPlane.replicas", path: "/spec/topology/controlPlane/replicas",
		})
	}
	if c.request.Workers != nil {
		c.workers(int32(*c.request.Workers)) //nolint:gosec // validated to be small
	}
}

// checkCapacity of the Pod network for the nodes after the changes.
func (c *computation) checkCapacity() {
	if c.growth <= 0 {
		return
	}
	flag, value := "--workers", count(c.request.Workers)
	if c.request.Workers == nil {
		flag, value = "--control-planes", count(c.request.ControlPlanes)
	}
	for _, cidr := range c.Cluster.Spec.ClusterNetwork.Pods.CIDRBlocks {
		if reason := input.CheckCapacity(cidr, int(c.nodes()+c.growth)); reason != "" {
			c.refuse(flag, value, "the Pod CIDR "+cidr+" of the cluster is "+reason, "use fewer nodes, or create another cluster with a larger --pod-cidr")
			return
		}
	}
}

func (c *computation) workers(desired int32) {
	deployments := c.topology.Workers.MachineDeployments
	if len(deployments) != 1 {
		var names string
		for i := range deployments {
			names += map[bool]string{false: ", ", true: " "}[i == 0] + deployments[i].Name
		}
		if len(deployments) > 1 || desired != 0 {
			c.refuse("--workers", strconv.Itoa(int(desired)), fmt.Sprintf("the topology has %d MachineDeployments%s", len(deployments), names),
				fmt.Sprintf("set replicas below spec.topology.workers with kubectl edit cluster %s%s", c.Cluster.Name, kubectl))
		}
		return
	}
	c.scale(scaled{
		owner: c.deployment(&deployments[0]), present: deployments[0].Replicas, desired: desired,
		field: fmt.Sprintf("spec.topology.workers.machineDeployments[%s].replicas", deployments[0].Name),
		path:  "/spec/topology/workers/machineDeployments/0/replicas",
	})
	takesPods := string(c.variable(objects.SchedulingVariable)) == "true" || !c.takes(objects.SchedulingVariable, "")
	if desired == 0 && len(c.topology.Workers.MachinePools) == 0 && !takesPods {
		c.plan.Warnings = append(c.plan.Warnings, "no worker is left, and control planes take no Pods: Pods stay Pending until there is a worker")
	}
}

// scaled is a count that may change.
type scaled struct {
	owner       role
	present     *int32
	desired     int32
	field, path string
}

func (c *computation) scale(s scaled) {
	var old []byte
	if s.present != nil {
		old = number(*s.present)
	}
	if s.present != nil && *s.present == s.desired {
		return
	}
	c.change(s.field, s.path, old, number(s.desired))
	c.growth += s.desired - ptr.Deref(s.present, 1)
	if len(s.owner.machines) > int(s.desired) && (s.present == nil || s.desired < *s.present) {
		c.shrunk = append(c.shrunk, s)
	}
}

// deletion of Machines of an owner that is scaled down. Cluster API deletes those first that are
// annotated for it, so that a plan can choose the others. It chooses itself where all Machines
// are replaced anyway, where a rollout is under way, and among annotated ones.
func (c *computation) deletion(s scaled) Deletion {
	deletion := Deletion{Owner: s.owner.name, Count: len(s.owner.machines) - int(s.desired)}
	machineSets := sets.New[string]()
	isReplaced := false
	var annotated, others []*clusterv1.Machine
	for _, machine := range s.owner.machines {
		machineSets.Insert(machine.Labels[clusterv1.MachineSetNameLabel])
		isReplaced = isReplaced || c.replaced[machineOf(machine)] != nil
		if _, found := machine.Annotations[clusterv1.DeleteMachineAnnotation]; found {
			annotated = append(annotated, machine)
		} else {
			others = append(others, machine)
		}
	}
	if isReplaced || machineSets.Len() > 1 {
		deletion.Machines = machinesOf(s.owner.machines)
		return deletion
	}
	deletion.Machines = machinesOf(annotated)
	isReady := func(machine *clusterv1.Machine) int {
		return map[bool]int{true: 1}[conditions.IsTrue(machine, clusterv1.MachineNodeReadyCondition)]
	}
	slices.SortStableFunc(others, func(a, b *clusterv1.Machine) int {
		return cmp.Or(cmp.Compare(isReady(a), isReady(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time))
	})
	deletion.candidates = machinesOf(others)
	return deletion
}

// nodes of the topology as it is.
func (c *computation) nodes() int32 {
	total := ptr.Deref(c.topology.ControlPlane.Replicas, 1)
	for _, deployment := range c.topology.Workers.MachineDeployments {
		total += ptr.Deref(deployment.Replicas, 1)
	}
	for _, pool := range c.topology.Workers.MachinePools {
		total += ptr.Deref(pool.Replicas, 1)
	}
	return total
}

// change a field of the Cluster.
func (c *computation) change(field, path string, old, desired []byte) {
	c.plan.Changes = append(c.plan.Changes, Change{Object: "Cluster " + c.Cluster.Name, Field: field, Old: old, New: desired})
	if path != "" {
		c.plan.operations = append(c.plan.operations, operation{Op: "add", Path: path, Value: desired})
	}
}

// start a cluster that is stopped.
func (c *computation) start() {
	if _, stopped := c.Cluster.Annotations[infrav1.StoppedAnnotation]; stopped {
		c.change("metadata.annotations["+infrav1.StoppedAnnotation+"]", "", text(c.Cluster.Annotations[infrav1.StoppedAnnotation]), nil)
		c.plan.operations = append(c.plan.operations, operation{
			Op: "remove", Path: "/metadata/annotations/" + pointer(infrav1.StoppedAnnotation),
		})
	}
}
