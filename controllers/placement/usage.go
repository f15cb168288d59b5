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
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
)

// Usage is what is on an engine.
type Usage struct {
	Clusters []infrav1.ContainerCluster
	// Users are the names of clusters, and of machines without one, sorted.
	Users []string
	// Machines, of which Existing have containers.
	Machines, Existing int
	// Reserved is the sum over all clusters of their reservation, or of what their machines count if that is more.
	Reserved Resources
}

// UsageOf an engine by the objects of its namespace. A machine is on the engine that it says, or on that of its
// cluster before it says one.
func UsageOf(engine *infrav1.ContainerEngine, clusters []infrav1.ContainerCluster, machines []infrav1.ContainerMachine) Usage {
	var usage Usage
	name := client.ObjectKeyFromObject(engine)
	counted, byName := map[string]Resources{}, map[string]*infrav1.ContainerCluster{}
	for i := range clusters {
		if engines.IsOn(&clusters[i], name) {
			usage.Clusters = append(usage.Clusters, clusters[i])
			usage.Users = append(usage.Users, clusters[i].Name)
			byName[clusters[i].Labels[clusterv1.ClusterNameLabel]] = &clusters[i]
		}
	}
	for i := range machines {
		ofCluster, isOnEngine := byName[machines[i].Labels[clusterv1.ClusterNameLabel]], engines.NameOf(&machines[i]) == name
		if ofCluster == nil && !isOnEngine || ofCluster != nil && len(ofCluster.Spec.EngineNames) > 0 && !isOnEngine {
			continue
		}
		if ofCluster == nil {
			// The object of its cluster is gone: nothing is known but its own limits.
			ofCluster = &infrav1.ContainerCluster{}
			usage.Users = append(usage.Users, machines[i].Name)
		}
		usage.Machines++
		if machines[i].Spec.ProviderID != "" {
			usage.Existing++
		}
		sum := counted[ofCluster.Name]
		sum.add(countsOf(&machines[i], ofCluster, engine.Spec.Capacity), 1)
		counted[ofCluster.Name] = sum
	}
	for _, reservation := range engine.Spec.Reservations {
		counted[reservation.ClusterName] = counted[reservation.ClusterName].most(resourcesOf(reservation))
	}
	for _, sum := range counted {
		usage.Reserved.add(sum, 1)
	}
	slices.Sort(usage.Users)
	return usage
}

func resourcesOf(reservation infrav1.EngineReservation) Resources {
	return Resources{CPU: first(Resources{}.CPU, reservation.CPU), Memory: first(Resources{}.Memory, reservation.Memory)}
}

// Current returns the reservations of an engine whose clusters are on it, or may be about to be placed there.
func Current(engine *infrav1.ContainerEngine, clusters []infrav1.ContainerCluster) []infrav1.EngineReservation {
	return slices.DeleteFunc(slices.Clone(engine.Spec.Reservations), func(reservation infrav1.EngineReservation) bool {
		return !slices.ContainsFunc(clusters, func(cluster infrav1.ContainerCluster) bool {
			return cluster.Name == reservation.ClusterName && (cluster.Spec.EngineName == engine.Name || engines.IsUnplaced(&cluster))
		})
	})
}
