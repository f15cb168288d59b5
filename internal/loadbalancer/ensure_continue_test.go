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

package loadbalancer_test

import (
	"errors"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// TestEnsureContinues: what was interrupted before the start is completed, in the same
// container.
func TestEnsureContinues(t *testing.T) {
	t.Parallel()
	eng, _ := newProcess(t)
	eng.AfterCall(func(call simulated.Call) error {
		if call.Method == "CreateContainer" {
			return engine.ErrUnavailable
		}
		return nil
	})
	if _, err := ensure(t.Context(), eng, spec()); !errors.Is(err, engine.ErrUnavailable) {
		t.Fatalf("Ensure: %v, want ErrUnavailable", err)
	}
	eng.ResetHooks()
	first := container(t, eng, testOwner.LoadBalancerContainer())
	state, err := ensure(t.Context(), eng, spec())
	if err != nil || !state.Running {
		t.Fatalf("Ensure again: %+v, %v, want it running", state, err)
	}
	if again := container(t, eng, state.Name); again.ID != first.ID {
		t.Errorf("container %s, want %s, which was there", again.ID, first.ID)
	}
}

// TestEnsureWhileTheEngineCreates: a name that is reserved for our own container is not
// another owner's.
func TestEnsureWhileTheEngineCreates(t *testing.T) {
	t.Parallel()
	eng, _ := newProcess(t)
	eng.FailNext("CreateContainer", &engine.ConflictError{Resource: engine.ResourceName, Value: testOwner.LoadBalancerContainer()})
	_, err := ensure(t.Context(), eng, spec())
	if !errors.Is(err, network.ErrCreating) || errors.Is(err, loadbalancer.ErrForeign) {
		t.Errorf("Ensure: %v, want ErrCreating and not ErrForeign", err)
	}
	if _, err := ensure(t.Context(), eng, spec()); err != nil {
		t.Errorf("Ensure after it: %v", err)
	}
}
