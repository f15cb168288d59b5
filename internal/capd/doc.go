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

// Package capd converts manifests for Cluster API's Docker provider (CAPD) to those of this
// provider: the kinds Docker* and Dev*, what refers to them, and the JSON patches of
// ClusterClasses and kustomizations.
//
// It works on the nodes of YAML, not on typed objects: comments, the order of fields and the
// variables of clusterctl's templates survive, and a document without one of these kinds is
// returned as it is. kinds.go has as data what becomes of each kind and field.
package capd
