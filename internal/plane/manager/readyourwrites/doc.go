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

// Package readyourwrites has each write to the API server return only when the
// manager's caches show it.
//
// A controller that reads a stale cache after its own write creates a second Machine,
// or deletes another one. Cluster API's feature gate ReconcilerRateLimiting prevents
// this per controller, and lets each object be reconciled only once a second. Here all
// controllers are protected, at the cost of the some milliseconds that a watch event
// takes: below all clients, since some of Cluster API's controllers delete through
// clients of their own.
//
// Leases, Events, dry runs, deletions of collections, and resources without an informer
// pass. A deletion whose dry run stands in the body waits until the limit.
package readyourwrites
