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

// Book writes into the pages of docs/book what they quote: regions of the template's files, and rules
// of the contract kit. It replaces the fenced block or the table after a marker:
//
//	<!-- quote template/controllers/machine.go MachineReconciler.reconcileNormal -->
//	<!-- quote template/controllers/machine.go MachineReconciler.Reconcile `if isPaused` -->
//	<!-- quote template/config/crd/kustomization.yaml `labels:` -->
//	<!-- rules IM1 IM1b IM2 -->
//
// A quote is a declaration of a Go file, the diff in a patch, or the block that begins with the only line that starts with a
// text: that line, and those that belong to it by their indentation. A second text is the start of the
// last such block. Thus a quote follows its code when that moves.
//
//	go run ./hack/book PAGE...
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: book PAGE...")
		os.Exit(2)
	}
	for _, page := range os.Args[1:] {
		if err := update(os.DirFS("."), page); err != nil {
			fmt.Fprintf(os.Stderr, "book: %s: %v\n", page, err)
			os.Exit(1)
		}
	}
}

func update(repository fs.FS, page string) error {
	before, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	after, err := write(repository, before)
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	if err := os.WriteFile(page, after, 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
