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

// The command contract tests an infrastructure provider against Cluster API's contract.
//
//	contract [--report DIRECTORY] provider.yaml
//
// It exits with 1 if rules fail, and with 2 if they could not be tested.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/capi-samples/cluster-api-provider-container/contract"
)

const (
	rulesFail = 1
	notTested = 2
)

var errUsage = errors.New("usage: contract [--report DIRECTORY] provider.yaml")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := test(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(notTested) //nolint:gocritic // The process ends anyway.
	case failed:
		os.Exit(rulesFail)
	}
}

func test(ctx context.Context) (failed bool, err error) {
	directory := flag.String("report", "", "Directory for contract.xml (JUnit) and contract.md.")
	flag.Parse()
	if flag.NArg() != 1 {
		return false, errUsage
	}
	report := *directory
	if report != "" {
		if report, err = filepath.Abs(report); err != nil {
			return false, err
		}
	}
	// Paths in the file are relative to it.
	if err := os.Chdir(filepath.Dir(flag.Arg(0))); err != nil {
		return false, err
	}
	provider, err := contract.Load(filepath.Base(flag.Arg(0)))
	if err != nil {
		return false, err
	}
	result, err := contract.Test(ctx, provider)
	if err != nil {
		return false, err
	}
	if err := result.Markdown(os.Stdout); err != nil {
		return false, err
	}
	if report != "" {
		err = result.Write(report)
	}
	return len(result.Failed()) > 0, err
}
