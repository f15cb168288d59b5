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
	"io"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// wantKind fails unless err is of the kind.
func wantKind(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: error %v, want one that is %q", what, err, kind)
	}
}

// wantTaken fails unless err says that the resource is taken, and which.
func wantTaken(t *testing.T, what string, err error, resource engine.Resource, value string) {
	t.Helper()
	var conflict *engine.ConflictError
	if !errors.As(err, &conflict) || conflict.Resource != resource {
		t.Errorf("%s: error %v, want a conflict of the %s", what, err, resource)
		return
	}
	if value != "" && conflict.Value != value {
		t.Errorf("%s: conflict about %q, want %q", what, conflict.Value, value)
	}
}

// wantHolder fails where a conflict does not name the container that has what is taken.
func wantHolder(t *testing.T, what string, err error, holder string) {
	t.Helper()
	var conflict *engine.ConflictError
	if errors.As(err, &conflict) && conflict.Holder != holder {
		t.Errorf("%s: holder %q, want %q", what, conflict.Holder, holder)
	}
}

// succeed ends the test where it cannot continue after an error.
func succeed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
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
		wantTaken(t, "call concurrently", err, conflict.Resource, conflict.Value)
	}
	if len(winners) != 1 {
		t.Fatalf("the calls %v of %d have success, want one that does", winners, callers)
	}
	return winners[0]
}

func wantNoError(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v, want success", what, err)
	}
}

func (c *fixture) wantStatus(t *testing.T, what, name string, want engine.Status) engine.Container {
	t.Helper()
	found := c.inspect(t, name)
	if found.Status != want {
		t.Errorf("%s: status %q, want %q", what, found.Status, want)
	}
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

// failingReader ends with an error of its own.
type failingReader struct {
	reader io.Reader
	err    error
}

func (r *failingReader) Read(p []byte) (int, error) {
	n, err := r.reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = r.err
	}
	return n, err
}

// address returns the n-th address of a subnet.
func address(subnet engine.Subnet, n int) netip.Addr {
	out := subnet.Prefix.Addr()
	for range n {
		out = out.Next()
	}
	return out
}

func firstSubnet(t *testing.T, network engine.Network) engine.Subnet {
	t.Helper()
	if len(network.Subnets) == 0 {
		t.Fatalf("network %q has no subnet", network.Name)
	}
	return network.Subnets[0]
}

func describe(container engine.Container) string {
	return fmt.Sprintf("%s %s, error %q, networks %v, ports %v", container.Name, container.Status,
		container.Error, container.Networks, container.Ports)
}
