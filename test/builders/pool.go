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

package builders

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Pool is the name of the MachinePool and of its ContainerMachinePool, and
// PoolSecret that of its bootstrap data.
const (
	Pool       = "pool"
	PoolSecret = Pool + "-data"
)

// MachinePool puts a pool with that many replicas in the place of the machine.
func MachinePool(replicas int32, options ...func(*clusterv1.MachinePool, *infrav1.ContainerMachinePool)) Option {
	return func(o *Objects) {
		machinePool := &clusterv1.MachinePool{
			TypeMeta:   typeMeta(clusterv1.GroupVersion.String(), "MachinePool"),
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Pool, UID: "pool-uid", Labels: labels()},
			Spec: clusterv1.MachinePoolSpec{
				ClusterName: Cluster, Replicas: ptr.To(replicas),
				Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
					ClusterName: Cluster, Version: "v1.36.3",
					Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To(PoolSecret)},
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{
						APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerMachinePool", Name: Pool,
					},
				}},
			},
		}
		pool := &infrav1.ContainerMachinePool{
			TypeMeta: typeMeta(infrav1.GroupVersion.String(), "ContainerMachinePool"),
			ObjectMeta: metav1.ObjectMeta{
				Namespace: Namespace, Name: Pool, UID: "container-pool-uid", Labels: labels(),
				OwnerReferences: ownerReferences("MachinePool", Pool, "pool-uid"),
			},
			Spec: infrav1.ContainerMachinePoolSpec{Template: infrav1.ContainerMachinePoolMachineTemplate{
				Spec: infrav1.ContainerMachineCommonSpec{Image: NodeImage},
			}},
		}
		for _, apply := range options {
			apply(machinePool, pool)
		}
		o.Machine, o.ContainerMachine, o.Secret = nil, nil, DataSecret(Pool, JoinWorkerData)
		o.Others = append(o.Others, machinePool, pool)
	}
}
