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

package contract_test

import (
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/contract"
)

// Each rule has its place in the contract's text.
func ExampleRules() {
	for _, rule := range contract.Rules() {
		if rule.ID == "IM1" {
			fmt.Println(rule.Level, rule.Title)
			fmt.Println(rule.URL())
		}
	}
	// Output:
	// MUST spec.providerID is a string, which the Machine gets.
	// https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-machine#inframachine-provider-id
}
