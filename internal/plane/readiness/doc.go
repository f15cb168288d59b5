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

// Package readiness is how the management plane says, through its API alone,
// that it works, and how others find out.
//
// The manager holds a lease, which the daemon deletes at each of its starts
// and the manager renews while its controllers run. A plane is ready when its
// API server says so, the lease is fresh, and a Cluster can be created in a
// dry run, which takes the defaulting and the validating webhook.
package readiness
