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

// Package simulated is a container engine that lives in memory.
//
// It keeps the contract of package engine, and the conformance suite holds it
// to that: containers have file systems, volumes and addresses, networks have
// subnets, ports and addresses conflict at start as they do on a real engine,
// and a restart of the engine applies restart policies. Nothing runs, though:
// what processes would do is scripted by the test, with HandleExec for
// commands and OnStart for what a container does when it starts.
//
// Every call is recorded in a journal, may be made to fail, and may be
// interrupted on both sides of its effect, which is how callers prove that
// they survive a crash at any point:
//
//	eng := simulated.New()
//	eng.AddImage(engine.Image{Tags: []string{"localhost/node:v1"}}, nil)
//	eng.AfterCall(func(call simulated.Call) error {
//		if call.Number == 3 {
//			panic(crash) // the effect of the third call has happened
//		}
//		return nil
//	})
//
// Times come from a clock that may be given. IDs are counted, so two runs of
// one test see the same ones.
package simulated
