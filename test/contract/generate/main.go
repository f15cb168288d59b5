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

// Generate writes the table of the contract for users.
//
//	go run ./test/contract/generate docs/contract.md
package main

import (
	"fmt"
	"os"

	"github.com/capi-samples/cluster-api-provider-container/test/contract"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(contract.Markdown()), 0o644); err != nil { //nolint:gosec // Documentation is for all to read.
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
