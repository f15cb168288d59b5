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

package adapter_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// A busy host takes seconds to start a process: its terminal gets its sizes all the same.
func TestResizeRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, newest := engine.TerminalSize{Columns: 91, Rows: 37}, engine.TerminalSize{Columns: 101, Rows: 37}
		sizes := make(chan engine.TerminalSize, 1)
		started := time.Now().Add(5 * time.Second)
		var asked int
		var taken []engine.TerminalSize
		stop := adapter.Resize(t.Context(), &engine.Terminal{Size: first, Sizes: sizes}, func(_ context.Context, size engine.TerminalSize) error {
			asked++
			if time.Now().Before(started) {
				return errors.New("the process is not running")
			}
			taken = append(taken, size)
			return nil
		})
		time.Sleep(time.Second)
		sizes <- newest
		time.Sleep(time.Minute)
		stop()
		if diff := cmp.Diff([]engine.TerminalSize{first, newest}, taken); diff != "" {
			t.Errorf("sizes of the terminal (-want +got):\n%s", diff)
		}
		if asked > 20 {
			t.Errorf("%d requests in 5 s, want a pause that grows", asked)
		}
	})
}
