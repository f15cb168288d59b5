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

// Package imagepull fetches images alongside the reconciles that need them.
//
// A reconcile asks whether an image is there; where it is not, a pull continues
// in the background and the reconcile comes back later. The tracker's state
// may be lost at any time: the engine is inspected first, and a pull that ended
// with the manager is started again.
package imagepull
