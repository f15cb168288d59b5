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

// Package daemon is what runs inside the management plane's container: etcd,
// kube-apiserver, kube-controller-manager with the garbage collector and the
// namespace controller, and the manager (package manager), each a process of
// its own under the supervisor (package supervise).
//
// All state lies in one directory, which a lock keeps to one daemon. The order
// is: etcd, API server, CRDs and webhook configurations, then controller
// manager and manager together. The controller manager comes after the CRDs
// because its garbage collector looks for new kinds only every 30 s.
package daemon
