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

package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Request is a machine of a cluster over several engines that is to be placed.
type Request struct {
	Machine *infrav1.ContainerMachine
	Cluster *infrav1.ContainerCluster
	// FailureDomain that it has to be in; empty = any.
	FailureDomain string
}

// Inventory is what a placement is computed from: the objects of the namespace.
type Inventory struct {
	Engines  []infrav1.ContainerEngine
	Clusters []infrav1.ContainerCluster
	Machines []infrav1.ContainerMachine
}

// ReadInventory of a namespace.
func ReadInventory(ctx context.Context, c client.Reader, namespace string) (Inventory, error) {
	found, clusters, machines := &infrav1.ContainerEngineList{}, &infrav1.ContainerClusterList{}, &infrav1.ContainerMachineList{}
	for _, list := range []client.ObjectList{found, clusters, machines} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return Inventory{}, fmt.Errorf("list objects of the namespace: %w", err)
		}
	}
	return Inventory{Engines: found.Items, Clusters: clusters.Items, Machines: machines.Items}, nil
}

// ChooseEngine of a machine: of those of its cluster, in its failure domain, that have the capacity, the one with the fewest machines
// of its group, and of several of these the one with the most memory left. None: *NoEngineError.
func (i Inventory) ChooseEngine(request Request) (string, error) {
	var best *candidate
	var reasons []string
	fewest, full := 0, false
	for _, name := range request.Cluster.Spec.EngineNames {
		at := slices.IndexFunc(i.Engines, func(engine infrav1.ContainerEngine) bool { return engine.Name == name })
		if at < 0 {
			reasons = append(reasons, name+" is not found")
			continue
		}
		engine := &i.Engines[at]
		if domain := FailureDomain(engine); request.FailureDomain != "" && domain != request.FailureDomain {
			reasons = append(reasons, fmt.Sprintf("%s is in failure domain %s, and not in %s", name, domain, request.FailureDomain))
			continue
		}
		this := newCandidate(engine, request.Cluster.Name, UsageOf(engine, i.Clusters, i.Machines))
		needs := countsOf(request.Machine, request.Cluster, engine.Spec.Capacity)
		if reason := this.refuses("machine", needs); reason != "" {
			reasons, full = append(reasons, name+" "+reason), full || this.lacks(needs)
			continue
		}
		count := i.group(request.Machine, name)
		if best == nil || count < fewest || count == fewest && this.precedes(best) {
			best, fewest = this, count
		}
	}
	if best == nil {
		slices.Sort(reasons)
		return "", &NoEngineError{What: "machine", Reasons: reasons, Full: full}
	}
	return best.engine.Name, nil
}

// group counts the other machines on an engine that are of the same control plane, MachineDeployment or pool.
func (i Inventory) group(machine *infrav1.ContainerMachine, engine string) int {
	count := 0
	for _, other := range i.Machines {
		if other.Name != machine.Name && other.DeletionTimestamp.IsZero() && groupOf(&other) == groupOf(machine) &&
			other.Annotations[infrav1.EngineNameAnnotation] == engine {
			count++
		}
	}
	return count
}

func groupOf(machine *infrav1.ContainerMachine) [4]string {
	_, controlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]
	return [...]string{
		machine.Labels[clusterv1.ClusterNameLabel], fmt.Sprint(controlPlane),
		machine.Labels[clusterv1.MachineDeploymentNameLabel], machine.Labels[clusterv1.MachinePoolNameLabel],
	}
}

// FailureDomain of an engine among those of a cluster over several: its own by its name, if it has none.
func FailureDomain(engine *infrav1.ContainerEngine) string {
	return cmp.Or(engine.Spec.FailureDomain, engine.Name)
}

// FailureDomains of a cluster over several engines: of those that new machines are placed on.
func (i Inventory) FailureDomains(cluster *infrav1.ContainerCluster) []clusterv1.FailureDomain {
	var domains []clusterv1.FailureDomain
	for j := range i.Engines {
		engine := &i.Engines[j]
		name := FailureDomain(engine)
		isKnown := slices.ContainsFunc(domains, func(domain clusterv1.FailureDomain) bool { return domain.Name == name })
		if slices.Contains(cluster.Spec.EngineNames, engine.Name) && !isKnown && engine.DeletionTimestamp.IsZero() &&
			!ptr.Deref(engine.Spec.Lost, false) && !ptr.Deref(engine.Spec.Maintenance, false) {
			domains = append(domains, clusterv1.FailureDomain{Name: name, ControlPlane: ptr.To(true)})
		}
	}
	slices.SortFunc(domains, func(a, b clusterv1.FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
	return domains
}

// ChooseHome of a cluster over several engines, for its load balancer: the engine that it has, unless that is lost or no longer one of
// them; otherwise one that is ready, preferably without maintenance. None: *NoEngineError.
func (i Inventory) ChooseHome(cluster *infrav1.ContainerCluster) (string, error) {
	var ready []string
	var reasons []string
	for j := range i.Engines {
		engine := &i.Engines[j]
		switch {
		case !slices.Contains(cluster.Spec.EngineNames, engine.Name):
		case engine.Name == cluster.Spec.EngineName && !ptr.Deref(engine.Spec.Lost, false):
			return engine.Name, nil
		default:
			switch reason := newCandidate(engine, "", Usage{}).refuses("load balancer", Resources{}); reason {
			case "":
				ready = append(ready, engine.Name)
			default:
				reasons = append(reasons, engine.Name+" "+reason)
			}
		}
	}
	if len(ready) == 0 {
		slices.Sort(reasons)
		return "", &NoEngineError{What: "load balancer", Reasons: reasons}
	}
	return slices.Min(ready), nil
}
