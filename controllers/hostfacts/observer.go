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

// Package hostfacts keeps what was found out about an engine's host, so that
// it is probed once and not for every machine.
//
// A host does not change while an engine runs on it; what is kept is lost
// with the manager and found out again.
package hostfacts

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// Engine is what observing a host needs of an engine.
type Engine interface {
	engine.Containers
	engine.Host
}

// Facts are what is known of an engine's host.
type Facts struct {
	// Probed by a container on it.
	Probed preflight.Host
	// Node is what nodes on it need to know.
	Node node.Host
}

// Observer finds out about the host of one engine.
type Observer struct {
	engine Engine

	mutex sync.Mutex
	facts *Facts
}

// NewObserver returns an Observer that has not looked yet.
func NewObserver(eng Engine) *Observer { return &Observer{engine: eng} }

// NewKnown returns an Observer that need not look.
func NewKnown(facts Facts) *Observer { return &Observer{facts: &facts} }

// Known returns the facts where they were observed before.
func (o *Observer) Known() (Facts, bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.facts == nil {
		return Facts{}, false
	}
	return *o.facts, true
}

// Observe returns the facts; the first call probes with a container of the
// image, which must be present and have a shell.
func (o *Observer) Observe(ctx context.Context, image string) (Facts, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.facts != nil {
		return *o.facts, nil
	}
	info, err := o.engine.Info(ctx)
	if err != nil {
		return Facts{}, fmt.Errorf("ask the engine about itself: %w", err)
	}
	// The name is random so that two managers on one engine do not meet.
	name := "capcon-probe-" + rand.String(8)
	labels := map[string]string{identity.LabelRole: string(identity.RoleProbe)}
	probed, err := preflight.Probe(ctx, o.engine, name, image, labels)
	if err != nil {
		return Facts{}, fmt.Errorf("probe the host: %w", err)
	}
	modules, err := o.hasKernelModules(ctx, name, image, labels)
	if err != nil {
		return Facts{}, fmt.Errorf("look for kernel modules: %w", err)
	}
	facts := Facts{Probed: probed, Node: nodeHost(info, probed, modules)}
	if probed.PrivilegedError == nil {
		o.facts = &facts
	}
	return facts, nil
}

// hasKernelModules asks whether the host has the directory by creating a
// container that mounts it: there is no other way to look at the file system
// of a host that may be on another machine.
func (o *Observer) hasKernelModules(ctx context.Context, name, image string, labels map[string]string) (found bool, err error) {
	_, err = o.engine.CreateContainer(ctx, engine.Spec{
		Name:   name,
		Image:  image,
		Labels: labels,
		Mounts: []engine.Mount{{Type: engine.MountBind, Source: "/lib/modules", Target: "/lib/modules", ReadOnly: true}},
	})
	if errors.Is(err, engine.ErrInvalid) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create container %q: %w", name, err)
	}
	if err := o.engine.RemoveContainer(ctx, name); err != nil {
		return false, fmt.Errorf("remove container %q: %w", name, err)
	}
	return true, nil
}

func nodeHost(info engine.Info, probed preflight.Host, modules bool) node.Host {
	const resource = uint64(1) << node.CapabilitySysResource
	return node.Host{
		CgroupVersion:     info.CgroupVersion,
		UserNamespace:     info.Rootless || info.UserNamespaceRemap,
		CannotRaiseLimits: probed.HasCapabilities && probed.Capabilities&resource == 0,
		StorageDriver:     info.StorageDriver,
		KernelModules:     modules,
	}
}
