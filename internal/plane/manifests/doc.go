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

// Package manifests holds the CRDs and webhook configurations of Cluster API's
// core, kubeadm bootstrap and kubeadm control plane providers, and installs
// them, and those of other providers, into the management plane, together with
// the inventory that clusterctl reads.
//
// The files below capi are generated from the Cluster API module that go.mod
// names, so that they always fit the controllers that are compiled in.
package manifests

//go:generate go run ./generate
