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

// Package plane is the management plane as seen from outside: one container on
// an engine, and how it is made sure of, observed and removed. What runs inside
// is in the packages below: daemon, manager, manifests, pki, readiness and
// supervise.
//
// The container is nothing but its image: all state lies in a volume, which
// also records, as a label, the host port the API is published on. So a plane
// may be replaced by one of a newer image, and a container that was lost is
// recreated, and kubeconfigs printed before stay valid.
package plane
