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

// Package memory runs clusters without containers: the controllers of this provider work on the
// simulated engine, and what a node's container would do is done here. A control plane is an
// instance of Cluster API's in-memory API server and a member of its in-memory etcd; each node is
// a Node object, with the Pods, ConfigMaps and roles that kubeadm makes and Cluster API's
// KubeadmControlPlane looks for.
//
// Nothing runs in these clusters: there is no scheduler, no Pod but the static ones, no network.
// All is lost when the process ends.
package memory
