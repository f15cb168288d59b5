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

// Package webhooks admits this provider's objects: it fills in what is left out
// and never changes afterwards, and refuses what could not come about, each
// with the field, the value and what to do, all together.
//
// It decides from the object alone, and asks neither an engine nor an API
// server. A program may record clusters that are moved away. What controllers refuse as
// well is decided by the same functions, in packages network, node and identity. What the controllers choose, such as an
// endpoint or an image, is left to them.
//
//	err := webhooks.Setup(mgr, webhooks.Options{})
package webhooks
