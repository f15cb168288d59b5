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

// Package target is what the e2e suite of a Cluster API project needs to run on
// containers of this provider: a management cluster made by kind that reaches the
// engine and the clusters on it, a collector of the machines' logs, and the
// assertions for the provider's kinds.
//
//	cluster, err := target.NewKindCluster(target.KindOptions{Name: "e2e"})
//	cluster.Create(ctx)
//	proxy := framework.NewClusterProxy("bootstrap", cluster.GetKubeconfigPath(), scheme,
//		framework.WithMachineLogCollector(target.LogCollector{}))
//
// No type of this package's API is one of the provider's own.
package target
