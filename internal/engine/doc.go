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

// Package engine is the seam between this provider and a container engine.
//
// It holds the role interfaces that the provider programs against, the plain
// values they exchange and the typed errors callers decide on. It imports
// nothing but the standard library: the engines live in sibling packages
// (docker, podman, simulated), the choice between them in connect, and the
// suite that proves they behave alike in enginetest.
//
// The comment on each method is its contract. Every method may be called
// again after a crash: creating what exists answers ErrConflict, removing
// what is absent succeeds, starting what runs succeeds.
//
// Two things are left out on purpose. No method sends a signal to a
// container: an engine takes any signal sent through its API as the wish of
// a user to stop the container, and no restart policy starts it again;
// signals are sent from inside, with Exec. And no method waits for a
// container to end: callers observe, and Events wakes them.
package engine
