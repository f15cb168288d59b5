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

// Package contract tests two providers with the contract kit: this one, on the simulated engine,
// and Cluster API's DevCluster and DevMachine in memory, as a process. It also tests the kit, with mutants of the
// template that break one rule each, and what "make provider" writes. test/contract has the tests of
// all rules of this provider.
package contract
