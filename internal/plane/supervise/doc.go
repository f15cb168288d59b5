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

// Package supervise runs a few processes that make one service: it starts them
// one after the other, each when the one before is ready, restarts those that
// exit or hang, and stops them in reverse order.
//
// It imports neither Kubernetes nor Cluster API:
//
//	s := supervise.New(supervise.Options{Output: os.Stdout, Log: log})
//	defer s.Stop()
//	if err := s.Start(ctx, supervise.Process{Name: "etcd", Path: "/bin/etcd", Ready: probe}); err != nil { … }
package supervise
