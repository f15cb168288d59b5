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

// Package manager is the one controller process of the management plane: the
// reconcilers and webhooks of Cluster API core, of the kubeadm bootstrap and
// of the kubeadm control plane provider, and this provider's own (a SetupFunc
// adds both), on one controller-runtime manager, one webhook server and one
// ClusterCache.
//
// Three stock managers would hold three caches of the same objects and three
// connections to each workload cluster, and each would wait 30 s after a
// first connection attempt that came too early. Sharing has a price: none of
// the cache options the providers ship may be taken as they are (see
// cacheOptions), and what is internal to Cluster API is implemented here: the client
// of Runtime Extensions (package extensions).
package manager
