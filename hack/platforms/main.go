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

// Platforms type-checks capcon for the systems users run it on other than Linux. It reads the
// sources of what capcon imports: compiling them all for each system takes minutes.
//
//	go run ./hack/platforms windows/amd64 darwin/arm64
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	for _, platform := range os.Args[1:] {
		if err := check(platform); err != nil {
			fmt.Fprintf(os.Stderr, "platforms: capcon does not compile for %s: %v\n", platform, err)
			os.Exit(1)
		}
		fmt.Printf("platforms: capcon compiles for %s.\n", platform)
	}
}

func check(platform string) error {
	system, architecture, _ := strings.Cut(platform, "/")
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedFiles | packages.NeedCompiledGoFiles,
		Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture),
	}, "./cmd/capcon/...")
	if err != nil {
		return fmt.Errorf("load cmd/capcon: %w", err)
	}
	if count := packages.PrintErrors(roots); count > 0 {
		return fmt.Errorf("there are %d errors", count)
	}
	return nil
}
