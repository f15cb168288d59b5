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

// Package loadbalancer keeps the container that is the API endpoint of a
// cluster: it creates it, gives it backends, reads back what the running
// process does with them, and removes it.
//
// The calls of one load balancer are made by one writer, the cluster's
// controller; Observe and Serving may be called by anyone. Nothing is
// kept between calls.
//
//	state, err := loadbalancer.Ensure(ctx, engine, spec)
//	config.Backends = loadbalancer.Backends(machines, state)
//	state, err = loadbalancer.Sync(ctx, engine, state.Name, config)
package loadbalancer
