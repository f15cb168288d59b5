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

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// succeed ends the test where it cannot continue after an error.
func succeed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func wantNoError(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v, want success", what, err)
	}
}

// wantKind fails unless err is of the kind.
func wantKind(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: error %v, want one that is %q", what, err, kind)
	}
}

// failure is the error of a call whose result does not matter.
func failure[T any](_ T, err error) error { return err }

// wantTaken fails unless err is the conflict. An empty value or holder is not compared.
func wantTaken(t *testing.T, what string, err error, want engine.ConflictError) {
	t.Helper()
	var got *engine.ConflictError
	if !errors.As(err, &got) || got.Resource != want.Resource ||
		want.Value != "" && got.Value != want.Value || want.Holder != "" && got.Holder != want.Holder {
		t.Errorf("%s: error %v, want a conflict of the %s %q, held by %q", what, err, want.Resource, want.Value, want.Holder)
	}
}

// oneWins lets several call concurrently, through two connections, each of which stands for a
// process. It fails unless one has success, which it returns, and all others get the conflict.
func (c *fixture) oneWins(
	t *testing.T, callers int, conflict engine.ConflictError, call func(i int, connection engine.Engine) error,
) (winner int) {
	t.Helper()
	connections := []engine.Engine{c.Engine, c.Connect(t)}
	errs := make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { errs[i] = call(i, connections[i%len(connections)]) })
	}
	group.Wait()
	var winners []int
	for i, err := range errs {
		if err == nil {
			winners = append(winners, i)
			continue
		}
		wantTaken(t, "call concurrently", err, conflict)
	}
	if len(winners) != 1 {
		t.Fatalf("the calls %v of %d have success, want one that does", winners, callers)
	}
	return winners[0]
}

func (c *fixture) wantStatus(t *testing.T, what, name string, want engine.Status) engine.Container {
	t.Helper()
	found := c.inspect(t, name)
	if found.Status != want {
		t.Errorf("%s: status %q, want %q", what, found.Status, want)
	}
	return found
}

func (c *fixture) eventuallyStatus(t *testing.T, suffix string, want engine.Status) engine.Container {
	t.Helper()
	var found engine.Container
	eventually(t, func() string {
		if found = c.inspect(t, c.named(suffix)); found.Status != want {
			return "want " + string(want) + ": " + describe(found)
		}
		return ""
	})
	return found
}

// wantNotStarted fails unless the container does not run, and says why.
func (c *fixture) wantNotStarted(t *testing.T, name string) {
	t.Helper()
	found := c.inspect(t, name)
	if found.Status == engine.StatusRunning || found.Error == "" && !c.ForgetsStartErrors {
		t.Errorf("%s, want not running, with an error", describe(found))
	}
}

// wantTool fails unless the command prints the text.
func (c *fixture) wantTool(t *testing.T, what, container, want string, args ...string) {
	t.Helper()
	if got := c.tool(t, container, args...); got != want {
		t.Errorf("%s: %v prints %q, want %q", what, args, got, want)
	}
}

// wantToolFails fails unless the command runs and fails.
func (c *fixture) wantToolFails(t *testing.T, what, container string, args ...string) {
	t.Helper()
	var exit *engine.ExitError
	if err := failure(c.Exec(t.Context(), container, tool(args...))); !errors.As(err, &exit) {
		t.Errorf("%s: %v ends with %v, want a command that does not succeed", what, args, err)
	}
}

// patience bounds waiting for what an engine does by itself.
const patience = 30 * time.Second

// eventually waits until the condition holds; it says what is missing.
func eventually(t *testing.T, condition func() (missing string)) {
	t.Helper()
	must.Eventually(t, patience, "the engine has done it", func(context.Context) error {
		if missing := condition(); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
}

func describe(container engine.Container) string {
	return fmt.Sprintf("%s %s, error %q, networks %v, ports %v", container.Name, container.Status,
		container.Error, container.Networks, container.Ports)
}
