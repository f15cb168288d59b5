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

package contract

import "slices"

// Rule is one rule of the contract, with one proof that it is kept. A rule that
// asks for several things is there several times.
type Rule struct {
	// ID of the rule in docs/contract.md; its letters say what it is about.
	ID string
	// Says what the rule asks for.
	Says string
	Proof
	// Unproved says why there is no proof.
	Unproved string
}

// Proof is a test: its package by the directory, and its name, with the subtest if it has
// several.
type Proof struct {
	Package, Test string
}

// Section is a group of rules.
type Section struct {
	Title string
	Rules []Rule
}

// Sections are all rules.
func Sections() []Section {
	return []Section{
		{"All kinds", allKinds()},
		{"ContainerCluster", clusters()},
		{"ContainerMachine", machines()},
		{"Templates", templates()},
		{"ContainerMachinePool", pools()},
		{"Bootstrap data and other inputs", inputs()},
		{"Distribution by clusterctl", distribution()},
		{"Move, backup and restore", move()},
		{"Operation", operation()},
	}
}

// Rules are those of all sections.
func Rules() []Rule {
	var all []Rule
	for _, section := range Sections() {
		all = slices.Concat(all, section.Rules)
	}
	return all
}

// The packages that have most of the proofs.
const (
	clusterTests     = "controllers/cluster"
	machineTests     = "controllers/machine"
	nodeTests        = "controllers/node"
	poolTests        = "controllers/machinepool"
	webhookTests     = "internal/webhooks"
	contractTests    = "test/contract"
	conversionTests  = "internal/conversion"
	environmentTests = "test/env"
	repositoryTests  = "test/repository"
)
