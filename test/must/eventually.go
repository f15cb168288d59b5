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

package must

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// pollsPerWait is how often Eventually checks within its time, at most: a wait of some
// seconds ends soon after what it waits for, and one of minutes asks an engine or an API
// server once a second.
const pollsPerWait = 240

// Eventually ends the test unless check succeeds within a time, with the error of the last
// check. The context of a check ends with that time.
func Eventually(tb testing.TB, within time.Duration, what string, check func(ctx context.Context) error) {
	tb.Helper()
	last := errors.New("not checked")
	err := wait.PollUntilContextTimeout(tb.Context(), within/pollsPerWait, within, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err == nil || ctx.Err() == nil {
			// What a check found before it was interrupted says more.
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		tb.Fatalf("waiting %s until %s: %v", within, what, last)
	}
}
