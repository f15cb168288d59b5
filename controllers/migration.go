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

package controllers

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/controllers/crdmigrator"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions;customresourcedefinitions/status,verbs=update;patch,resourceNames=containerclusters.infrastructure.cluster.x-k8s.io;containerclustertemplates.infrastructure.cluster.x-k8s.io;containermachines.infrastructure.cluster.x-k8s.io;containermachinetemplates.infrastructure.cluster.x-k8s.io;containermachinepools.infrastructure.cluster.x-k8s.io;containermachinepooltemplates.infrastructure.cluster.x-k8s.io
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclustertemplates;containermachinetemplates;containermachinepooltemplates,verbs=get;list;watch;update;patch

// Migrations are the kinds of this provider for Cluster API's CRDMigrator: it writes
// objects that were stored in an earlier version once more, so that they are stored in
// the current one and the earlier one can be removed in a later release.
func Migrations() map[client.Object]crdmigrator.ByObjectConfig {
	// No webhook is asked about a write of the status.
	status := crdmigrator.ByObjectConfig{UseCache: true, UseStatusForStorageVersionMigration: true}
	return map[client.Object]crdmigrator.ByObjectConfig{
		&infrav1.ContainerCluster{}:             status,
		&infrav1.ContainerMachine{}:             status,
		&infrav1.ContainerMachinePool{}:         status,
		&infrav1.ContainerMachineTemplate{}:     status,
		&infrav1.ContainerClusterTemplate{}:     {},
		&infrav1.ContainerMachinePoolTemplate{}: {},
	}
}
