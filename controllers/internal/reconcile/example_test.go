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

package reconcile_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// machineScope is what the phases of one reconcile share.
type machineScope struct{ image, container string }

// Report prints where a controller sets a condition.
func (s *machineScope) Report(outcome error) {
	wait, _ := errors.AsType[reconcile.Wait](outcome)
	fmt.Printf("container %q: %s: %s\n", s.container, wait.Reason, wait.Message)
}

func ensureImage(_ context.Context, s *machineScope) error {
	if s.image == "" {
		return reconcile.Wait{Reason: "ImagePulling", Message: "pulling the image", After: reconcile.PullInterval}
	}
	return nil
}

func createContainer(_ context.Context, s *machineScope) error {
	s.container = "from " + s.image
	return reconcile.WaitForEvent("Bootstrapping", "the node bootstraps")
}

// A phase that waits ends the reconcile. The next reconcile begins with the first phase again.
func ExampleRun() {
	scope := &machineScope{}
	for range 2 {
		result, err := reconcile.Run(context.Background(), scope, ensureImage, createContainer)
		fmt.Println("next reconcile after", result.RequeueAfter, err)
		scope.image = "node:v1"
	}
	// Output:
	// container "": ImagePulling: pulling the image
	// next reconcile after 2s <nil>
	// container "from node:v1": Bootstrapping: the node bootstraps
	// next reconcile after 0s <nil>
}
