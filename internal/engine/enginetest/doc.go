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

// Package enginetest holds every engine to the contract of package engine.
//
// Conformance runs groups of cases against an engine, real or simulated; the comment
// at each case is the sentence it proves. What only a real process can show is
// left out on an engine whose harness says that it runs none, and what needs a
// restart of the engine where the harness cannot restart it.
//
// Before its first case, the suite needs Info, InspectImage and LoadImage of the engine.
//
// A real engine gets the suite's own image: one static program, built from
// this source and loaded as a docker-archive, so that nothing is pulled.
package enginetest
