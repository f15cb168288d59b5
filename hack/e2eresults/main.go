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

// Command e2eresults enters the results of a run of "make e2e RUN=cluster-api" into
// docs/results/e2e.json, and writes docs/results/e2e.md from it: a table of Cluster API's
// specs by engine and management cluster. A run replaces the cells of the specs that it
// ran, and no others; with -add it adds to them.
//
//	go run ./hack/e2eresults -engine docker -management kind -commit 0123abc JUNIT...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/hack/resultfile"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "e2eresults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("e2eresults", flag.ContinueOnError)
	var where column
	flags.StringVar(&where.Engine, "engine", "", "engine of the run: docker or podman")
	flags.StringVar(&where.Management, "management", "", "management cluster of the run: kind or plane")
	commit := flags.String("commit", "", "commit that was run")
	adds := flags.Bool("add", false, "add the results to those of earlier runs, and do not replace these")
	data := flags.String("data", "docs/results/e2e.json", "file of all results")
	page := flags.String("page", "docs/results/e2e.md", "page to write")
	specs := flags.String("specs", "hack/e2eresults/specs.yaml", "file of the specs and of reasons for cells without a result")
	complete := flags.Bool("complete", false, "end with an error if a cell has neither a result nor a reason")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	catalogue, err := readCatalogue(*specs)
	if err != nil {
		return err
	}
	results, err := readResults(*data)
	if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		if err := enter(results, catalogue, entry{column: where, commit: *commit, reports: flags.Args(), adds: *adds}); err != nil {
			return err
		}
		if err := resultfile.Write(*data, results); err != nil {
			return err
		}
	}
	text, missing := render(catalogue, results, func(commit string) bool { return isStale(ctx, commit) })
	if err := os.WriteFile(*page, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if *complete && len(missing) > 0 {
		return errors.New("neither a result nor a reason: " + strings.Join(missing, "; "))
	}
	return nil
}

// staleAfter is how many commits a result is taken for that of now.
const staleAfter = 50

// isStale reports whether a commit is older than that, or is not known here.
func isStale(ctx context.Context, commit string) bool {
	commit = strings.TrimSuffix(commit, changed)
	output, err := exec.CommandContext(ctx, "git", "rev-list", "--count", commit+"..HEAD").Output()
	if err != nil {
		return true
	}
	age, err := strconv.Atoi(strings.TrimSpace(string(output)))
	return err != nil || age > staleAfter
}
