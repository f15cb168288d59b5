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

package world

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
)

// Write is one write of the controllers to the API server.
type Write struct {
	// Number counts from 1.
	Number int
	// Verb and Object, such as "patch status" and "*v1beta2.ContainerMachine m1".
	Verb, Object string
}

// Calls counts what the controllers ask of the engine, as Writes does with
// what they write to the API server. Calls of the test itself are left out.
type Calls struct {
	mutex sync.Mutex
	// looking is how many controllers look now.
	looking       int
	made          []simulated.Call
	effects       []simulated.Call
	before, after func(simulated.Call) error
}

func (c *Calls) count(eng *simulated.Engine) {
	eng.OnCall(func(call simulated.Call) error {
		c.mutex.Lock()
		if c.looking == 0 {
			c.mutex.Unlock()
			return nil
		}
		call.Number = len(c.made) + 1
		c.made = append(c.made, call)
		hook := c.before
		c.mutex.Unlock()
		if hook != nil {
			return hook(call)
		}
		return nil
	})
	eng.AfterCall(func(call simulated.Call) error {
		if call.Method == "StartContainer" {
			// Some start a container by its ID.
			if started, err := eng.Observe(call.Name); err == nil {
				call.Name = started.Name
			}
		}
		c.mutex.Lock()
		if c.looking == 0 {
			c.mutex.Unlock()
			return nil
		}
		call.Number = len(c.made)
		c.effects = append(c.effects, call)
		hook := c.after
		c.mutex.Unlock()
		if hook != nil {
			return hook(call)
		}
		return nil
	})
}

// during counts the calls that are made while f runs.
func (c *Calls) during(f func()) {
	c.add(1)
	defer c.add(-1)
	f()
}

func (c *Calls) add(looking int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.looking += looking
}

// Made returns the calls so far, those that did not succeed included.
func (c *Calls) Made() []simulated.Call {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.made)
}

// Effects returns the calls that changed something: those that may, and
// succeeded.
func (c *Calls) Effects() []simulated.Call {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(c.effects), func(call simulated.Call) bool {
		return !call.Mutating || simulatedhaproxy.Reads(call)
	})
}

// Begins is how often a container of each name was started for the first time.
func (c *Calls) Begins() map[string]int {
	created, count := map[string]bool{}, map[string]int{}
	for _, call := range c.Effects() {
		switch {
		case call.Method == "CreateContainer":
			created[call.Name] = true
		case call.Method == "StartContainer" && created[call.Name]:
			created[call.Name] = false
			count[call.Name]++
		}
	}
	return count
}

// Hook sets functions that run before and after the effect of each call; nil
// for none. They may panic. An error of before keeps the effect from
// happening.
func (c *Calls) Hook(before, after func(simulated.Call) error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.before, c.after = before, after
}

// Writes counts what the controllers write to the API server, and lets tests
// interrupt it on both sides of the effect.
type Writes struct {
	mutex         sync.Mutex
	made          []Write
	before, after func(Write) error
}

// Made returns the writes so far, those that were refused included.
func (w *Writes) Made() []Write {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.made)
}

// Hook sets functions that run before and after the effect of each write; nil
// for none. They may panic. An error of before keeps the effect from
// happening.
func (w *Writes) Hook(before, after func(Write) error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.before, w.after = before, after
}

func (w *Writes) do(verb string, object any, effect func() error) error {
	w.mutex.Lock()
	write := Write{Number: len(w.made) + 1, Verb: verb, Object: fmt.Sprintf("%T", object)}
	if named, ok := object.(client.Object); ok {
		write.Object += " " + named.GetName()
	}
	w.made = append(w.made, write)
	before, after := w.before, w.after
	w.mutex.Unlock()
	if before != nil {
		if err := before(write); err != nil {
			return err
		}
	}
	if err := effect(); err != nil {
		return err
	}
	if after != nil {
		return after(write)
	}
	return nil
}

// wrap returns the client as the controllers use it.
func (w *Writes) wrap(api client.WithWatch) client.WithWatch {
	return interceptor.NewClient(api, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return w.do("create", obj, func() error { return c.Create(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return w.do("delete", obj, func() error { return c.Delete(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return w.do("update", obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return w.do("patch", obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return w.do("apply", obj, func() error { return c.Apply(ctx, obj, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return w.do("update "+sub, obj, func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.do("patch "+sub, obj, func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
	})
}
