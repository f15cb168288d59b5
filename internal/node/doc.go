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

// Package node turns the values of a machine into what an engine needs to
// create it, and a host's profile into the configuration that a node on that
// host needs.
//
// Both are pure functions. Each option carries the reason why it is set; what
// kind sets for its nodes is the measure, since the same images are run.
package node
