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

package reconcile

import (
	"errors"
	"fmt"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// A condition whose message changes with each attempt is written with each attempt.
func TestErrorTextIsStable(t *testing.T) {
	t.Parallel()
	attempt := func(holder, words string) error {
		return fmt.Errorf("start container %q: %w", "demo-lb", &engine.ConflictError{
			Resource: engine.ResourceHostPort, Value: "8001", Holder: holder, Err: errors.New(words),
		})
	}
	for name, tc := range map[string]struct {
		reason string
		err    func(words string) error
		engine string
		want   string
	}{
		"PortOfAProcess": {
			"Who holds it is not known to the engine.",
			func(words string) error { return attempt("", words) }, "",
			"host port 8001 is in use by a process of the engine's host; stop it, or use another port",
		},
		"PortOfAContainer": {
			"A process cannot be stopped that is a node of another cluster.",
			func(words string) error { return attempt("other-lb", words) }, "",
			`host port 8001 is in use by container "other-lb"; stop or remove that container, or use another port`,
		},
		"PortOfAProcessOnAnotherHost": {
			"Who looks on the wrong host finds nothing.",
			func(words string) error { return attempt("", words) }, "build",
			`host port 8001 is in use by a process of the host of ContainerEngine "build"; stop it, or use another port`,
		},
		"PortOfAContainerOnAnotherHost": {
			"The same container name may be on two engines.",
			func(words string) error { return attempt("other-lb", words) }, "build",
			`host port 8001 is in use by container "other-lb" on ContainerEngine "build"; stop or remove that container, or use another port`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, words := range []string{"endpoint demo-lb (0a1b2c3d): port is already allocated", "endpoint demo-lb (4e5f6071): port is already allocated"} {
				if got := ErrorText(tc.err(words), tc.engine); got != tc.want {
					t.Errorf("%s Got %q, want %q", tc.reason, got, tc.want)
				}
			}
		})
	}
	if got := ErrorText(errors.New("broken"), "build"); got != "broken" {
		t.Errorf("another error: %q", got)
	}
}
