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

package faults

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// Engine lets the fault strike at the calls of an engine.
func (i *Injector) Engine(engine *simulated.Engine) {
	engine.OnCall(i.BeforeCall)
	engine.AfterCall(i.AfterCall)
}

// Client lets the fault strike at the writes of a fake client of client-go, whose objects
// the tracker has.
func (i *Injector) Client(client *clienttesting.Fake, tracker clienttesting.ObjectTracker) {
	react := clienttesting.ObjectReaction(tracker)
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !slices.Contains([]string{"create", "update", "patch", "delete"}, action.GetVerb()) {
			return false, nil, nil
		}
		if err := i.BeforeWrite(); err != nil {
			return true, nil, err
		}
		handled, object, err := react(action)
		if err == nil {
			err = i.AfterWrite()
		}
		return handled, object, err
	})
}

// Settle lets the manager act until that changes nothing three times in a row, and reports
// whether it came to that. The state is what there is, to be compared.
func (i *Injector) Settle(state func() []string, act func()) bool {
	quiet := 0
	for range 60 {
		before := state()
		i.Guard(act)
		if quiet++; !slices.Equal(before, state()) {
			quiet = 0
			i.Mark()
		}
		if quiet == 3 {
			return true
		}
	}
	return false
}
