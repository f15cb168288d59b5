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

// Package extensions calls Runtime Extensions: it is the client of Cluster API's Runtime SDK that
// the reconcilers of the management plane take, because Cluster API does not export its own.
//
// Semantics are Cluster API's: the same URLs, names of handlers, settings, failure policies,
// conversions and aggregated responses. What differs protects the plane, which has one process
// for all users of an engine:
//   - An extension is registered with the handlers that it had last (see [Client.WarmUp]), also if
//     it does not answer when the plane starts.
//   - A response is read up to [MaxResponseBytes] and discarded if it is larger.
//   - A handler that did not answer is called by one reconcile at a time until it answers: the
//     others fail immediately, as if they had called, and do not wait for its timeout.
//   - A discovery that failed is not repeated within a second: its message may be another one
//     each time, and each change of a condition leads to the next reconcile.
//
// Metrics of calls are left out.
package extensions
