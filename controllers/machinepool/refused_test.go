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

package machinepool_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// An instance that the API server refuses is told of, and tried again with
// the controller's back-off.
func TestRefusedInstance(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(builders.MachinePool(1)))
	refused := errors.New("spec.extraMounts[0].hostPath is no good")
	w.Writes.Hook(func(write world.Write) error {
		if write.Verb == "create" {
			return refused
		}
		return nil
	}, nil)
	if _, err := w.ReconcilePool(); !errors.Is(err, refused) {
		t.Errorf("the look ends with %v", err)
	}
	if state, message := world.State(get(w), infrav1.MachinePoolReadyCondition); state != "False/"+infrav1.ReplicasNotReadyReason || message != "0 of 1 replicas are ready" {
		t.Errorf("Ready is %s: %s", state, message)
	}
	if !slices.ContainsFunc(w.Events.Sent(), func(sent string) bool {
		return strings.HasPrefix(sent, "Warning ReplicaRefused") && strings.Contains(sent, refused.Error())
	}) {
		t.Errorf("no Event tells of it: %q", w.Events.Sent())
	}
	w.Writes.Hook(nil, nil)
	w.SettlePool()
	if made := len(names(w)); made != 1 {
		t.Errorf("then %d instances are made", made)
	}
}
