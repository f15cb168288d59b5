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
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// frozen is an engine on which a container was paused after it was inspected:
// no command in it ends.
type frozen struct{ *simulated.Engine }

func (frozen) Exec(ctx context.Context, _ string, _ engine.Command) (engine.Output, error) {
	<-ctx.Done()
	return engine.Output{}, ctx.Err()
}

func TestObserveDoesNotWaitForAFrozenContainer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng, _, state := ensured(t)
		began := time.Now()
		_, err := loadbalancer.Observe(t.Context(), frozen{eng}, state.Name)
		if err == nil || !strings.Contains(err.Error(), "did not complete within 15s") || time.Since(began) != 15*time.Second {
			t.Errorf("after %s: %v, want an error after 15 s", time.Since(began), err)
		}
	})
}
