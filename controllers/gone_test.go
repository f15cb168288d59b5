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

package controllers_test

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// An object that is deleted while it is reconciled is no error; one that
// cannot be written is.
func TestObjectGoneDuringReconcile(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	cases := map[string]struct {
		object    client.Object
		name      string
		options   []builders.Option
		reconcile func(*world.World) error
	}{
		"ContainerCluster": {&infrav1.ContainerCluster{}, builders.Cluster, nil, func(w *world.World) error {
			_, err := w.ReconcileCluster()
			return err
		}},
		"ContainerMachine": {&infrav1.ContainerMachine{}, builders.Machine, nil, func(w *world.World) error {
			_, err := w.ReconcileMachine(builders.Machine)
			return err
		}},
		"ContainerMachinePool": {&infrav1.ContainerMachinePool{}, builders.Pool, []builders.Option{builders.MachinePool(1)}, func(w *world.World) error {
			_, err := w.ReconcilePool()
			return err
		}},
	}
	for kind, c := range cases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(c.options...))
			w.Writes.Hook(func(write world.Write) error {
				if write.Verb == "patch status" {
					return refused
				}
				return nil
			}, nil)
			if err := c.reconcile(w); err == nil {
				t.Error("a status that was refused: no error")
			}
			gone := false
			w.Writes.Hook(func(write world.Write) error {
				if write.Verb == "patch status" && !gone {
					gone = true
					world.Purge(w, c.name, c.object)
				}
				return nil
			}, nil)
			if err := c.reconcile(w); err != nil || !gone {
				t.Errorf("got %v, the object is gone: %t", err, gone)
			}
		})
	}
}
