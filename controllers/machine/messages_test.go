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

package machine_test

import (
	"errors"
	"strings"
	"testing"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// Each layer below the condition may name the container.
func TestMessagesNameTheContainerOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, method, action string
		err                    error
		want                   string
	}{
		"PortInUse": {
			"The remedy is about the port.", "StartContainer", "start",
			&engine.ConflictError{Resource: engine.ResourceHostPort, Value: "8001", Holder: "other"},
			`host port 8001 is in use by container "other"; stop or remove that container, or use another port`,
		},
		"AddressInUse": {
			"The network is where the address is.", "StartContainer", "start",
			&engine.ConflictError{Resource: engine.ResourceAddress, Value: "10.7.0.2", Holder: "other"},
			`on network "capcon": start container "NAME": address 10.7.0.2 is in use by container "other"`,
		},
		"ImageMissing": {
			"The image was removed after it was found.", "CreateContainer", "create",
			engine.WithKind(errors.New("no such image: node:v1"), engine.ErrNotFound),
			`on network "capcon": create container "NAME": no such image: node:v1`,
		},
		"StartFailed": {
			"The engine's own words say why.", "StartContainer", "start",
			errors.New("no space left on device"),
			`on network "capcon": start container "NAME": no space left on device`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New())
			w.Engine.OnCall(func(call simulated.Call) error {
				if call.Method != tc.method {
					return nil
				}
				return engine.Failed(tc.action, container(), tc.err)
			})
			w.SettleMachine(builders.Machine)
			object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			_, got := world.State(object, infrav1.ContainerReadyCondition)
			if want := strings.ReplaceAll(tc.want, "NAME", container()); got != want {
				t.Errorf("%s Got %q, want %q", tc.reason, got, want)
			}
		})
	}
}
