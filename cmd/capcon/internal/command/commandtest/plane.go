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

package commandtest

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// Plane is the management plane of a World.
type Plane struct {
	Current plane.State
	// Ensured are the images that it was started with.
	Ensured []string
	// Created and Removed count.
	Created, Removed int
	// Meanwhile is what other processes do during a call; nil = nothing.
	Meanwhile func(call string)
	// Clusters that keep it; nil = none.
	Clusters func() []string

	// inMemory is what was requested last.
	inMemory *bool
}

// Running is the state of a plane that answers.
func Running(id string) plane.State {
	return plane.State{ID: id, Exists: true, Answers: true, Kubeconfig: []byte("management")}
}

// Ensure implements session.Plane.
func (p *Plane) Ensure(_ context.Context, image string, _ func(string)) (plane.Ready, error) {
	if err := p.Current.CheckMode(p.inMemory); err != nil {
		return plane.Ready{}, err
	}
	p.Ensured = append(p.Ensured, image)
	fresh, inMemory := p.Current.ID == "", p.Current.InMemory
	if fresh {
		p.Created++
		inMemory = ptr.Deref(p.inMemory, false)
	}
	p.Current = Running(cmp.Or(p.Current.ID, fmt.Sprintf("plane-%d", p.Created)))
	p.Current.Image, p.Current.InMemory = image, inMemory
	ready := plane.Ready{ID: p.Current.ID, Created: fresh, InMemory: inMemory, Kubeconfig: p.Current.Kubeconfig}
	p.others("Ensure")
	return ready, nil
}

// State implements session.Plane.
func (p *Plane) State(context.Context) (plane.State, error) { return p.Current, nil }

// Remove implements session.Plane.
func (p *Plane) Remove(context.Context) ([]string, error) {
	p.others("Remove")
	if p.Clusters != nil {
		if clusters := p.Clusters(); len(clusters) > 0 {
			return clusters, nil
		}
	}
	p.Removed++
	p.Current = plane.State{}
	return nil, nil
}

func (p *Plane) others(call string) {
	if p.Meanwhile != nil {
		p.Meanwhile(call)
	}
}
