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

// Package upstream runs the end-to-end specs that Cluster API exports against this
// provider. The specs are upstream's, unchanged: each file has one call of a spec,
// with what it needs to know of the provider. Two files have specs of our own, for what
// upstream has none: the failover of the leader, and faults of a management cluster.
//
//	make e2e RUN=cluster-api
//	make e2e RUN=cluster-api ENGINE=podman MANAGEMENT=plane FOCUS="KCP remediation" REPEAT=20
//
// Everything that needs an engine has the build tag e2e, as upstream's own suite:
// without it some of the specs do not exist. What this package and those below it
// prove without an engine, "go test ./..." runs.
package upstream
