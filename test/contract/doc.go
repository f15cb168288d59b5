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

// Package contract holds the rules of Cluster API's contract with
// infrastructure providers (v1beta2, as of 1.14), each with the test that
// proves that it is kept.
//
// That the table names what exists is a unit test. The tests that need a whole cluster,
// and had no better place, are in this package too.
package contract

//go:generate go test -vet=off -run ^TestDocument$ . -args -update
