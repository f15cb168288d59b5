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

package capcontest

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Number in an environment variable.
func Number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	return Parsed(t, strconv.Atoi, variable, otherwise)
}

// Parsed value of an environment variable.
func Parsed[T any](t *testing.T, parse func(string) (T, error), variable string, otherwise T) T {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	value, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return value
}

// Patience with a workload cluster: Pods start within seconds.
const Patience = 4 * time.Minute

// Eventually polls until check says nothing is missing any more.
func Eventually(tb testing.TB, what string, check func(ctx context.Context) (missing string, err error)) {
	tb.Helper()
	EventuallyWithin(tb, Patience, what, check)
}

// EventuallyWithin is Eventually with another time limit.
func EventuallyWithin(tb testing.TB, patience time.Duration, what string, check func(ctx context.Context) (missing string, err error)) {
	tb.Helper()
	must.Eventually(tb, patience, what, func(ctx context.Context) error {
		missing, err := check(ctx)
		if err == nil && missing != "" {
			err = errors.New(missing)
		}
		return err
	})
}

// Step of a test, which needs those before it.
type Step struct {
	Name string
	Run  func(t *testing.T)
}

// RunSteps as sub-tests, until one fails.
func RunSteps(t *testing.T, steps []Step) {
	t.Helper()
	for _, step := range steps {
		if !t.Run(step.Name, step.Run) {
			t.Fatalf("step %q failed; those after it need it", step.Name)
		}
	}
}
