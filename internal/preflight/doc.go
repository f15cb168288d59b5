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

// Package preflight says what a host and its engine lack, item by item, each
// with its remedy.
//
// Facts are observed apart from being judged: Observe and Probe ask the
// engine, Check is a pure function of what they found. What is asked of the
// host is asked from inside a container, since the engine may be on another
// machine.
//
//	facts := preflight.Facts{Nodes: 2}
//	facts.Engine, facts.EngineError = host.Info(ctx)
//	items := preflight.Check(facts)
//	message := preflight.Summary(items)
package preflight
