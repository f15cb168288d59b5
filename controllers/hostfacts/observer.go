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
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	ctrl "sigs.k8s.io/controller-runtime"

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
	// name of the containers it looks through: random, so that two managers
	// on one engine do not meet, and one for all, so that an error that
	// names it reads the same each time.
	name string

	mutex sync.Mutex
	// answer of the engine, the last one.
	answer Answer
	facts  *Facts
	// probe is what the facts were found with, and when.
	probe  preflight.ProbeContainer
	probed time.Time
}

// NewObserver returns an Observer that has not looked yet.
func NewObserver(eng Engine) *Observer {
	return &Observer{engine: eng, name: "capcon-probe-" + rand.String(8)}
}

// NewKnown returns an Observer that need not look.
func NewKnown(facts Facts) *Observer { return &Observer{facts: &facts} }

// Answer is what an engine said of itself, between two moments of our clock.
type Answer struct {
	Info            engine.Info
	Asked, Answered time.Time
}

// answerAge is for how long an answer is taken for that of now. Little of it
// changes while an engine runs, and Podman's costs a good part of a second:
// each time it asks the package manager which versions its helpers have.
const answerAge = 15 * time.Second

// Ask returns what the engine says of itself, or said a moment ago. An error is
// the engine's own, which names it.
func (o *Observer) Ask(ctx context.Context, host engine.Host) (Answer, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if asked := o.answer.Asked; !asked.IsZero() && time.Since(asked) < answerAge {
		return o.answer, nil
	}
	answer := Answer{Asked: time.Now()}
	var err error
	if answer.Info, err = host.Info(ctx); err != nil {
		return answer, err
	}
	answer.Answered = time.Now()
	o.answer = answer
	return answer, nil
}

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
// image, which must be present and have a shell, on the network.
func (o *Observer) Observe(ctx context.Context, image, network string) (Facts, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.facts != nil {
		return *o.facts, nil
	}
	info, err := o.engine.Info(ctx)
	if err != nil {
		return Facts{}, fmt.Errorf("ask the engine about itself: %w", err)
	}
	if err := o.removeLeftovers(ctx); err != nil {
		return Facts{}, err
	}
	container := preflight.ProbeContainer{Name: o.name, Labels: probeLabels(), Image: image, Network: network}
	probed, err := preflight.Probe(ctx, o.engine, container)
	if err != nil {
		return Facts{}, fmt.Errorf("probe the host: %w", err)
	}
	modules, err := o.hasKernelModules(ctx, container)
	if err != nil {
		return Facts{}, fmt.Errorf("look for kernel modules: %w", err)
	}
	facts := Facts{Probed: probed, Node: nodeHost(info, probed, modules)}
	if probed.PrivilegedError == nil {
		o.facts, o.probe, o.probed = &facts, container, time.Now()
	}
	return facts, nil
}

// renewAfter bounds how often a host is probed again that lacks something.
const renewAfter = 10 * time.Second

// Renew probes again with what was probed with before, for facts that keep
// clusters from working: a person may have mended them. Where that cannot be
// done, or was a moment ago, the facts stay as they are.
func (o *Observer) Renew(ctx context.Context) (Facts, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case o.facts == nil:
		return Facts{}, nil
	case o.engine == nil, time.Since(o.probed) < renewAfter:
		return *o.facts, nil
	}
	if err := o.removeLeftovers(ctx); err != nil {
		return Facts{}, err
	}
	probed, err := preflight.Probe(ctx, o.engine, o.probe)
	switch {
	case errors.Is(err, engine.ErrNotFound): // image or network are gone
		return *o.facts, nil
	case err != nil:
		return Facts{}, fmt.Errorf("probe the host again: %w", err)
	}
	o.facts.Probed, o.probed = probed, time.Now()
	return *o.facts, nil
}

func probeLabels() map[string]string {
	return map[string]string{identity.LabelRole: string(identity.RoleProbe)}
}

// probeLifetime is more than any probe takes: an older container was left by
// a manager that was killed.
const probeLifetime = time.Minute

// removeLeftovers removes our own container, and those of managers that did
// not come to it. Called with mutex held.
func (o *Observer) removeLeftovers(ctx context.Context) error {
	containers, err := o.engine.ListContainers(ctx, probeLabels())
	if err != nil {
		return fmt.Errorf("list probe containers: %w", err)
	}
	for _, container := range containers {
		if container.Name != o.name && time.Since(container.CreatedAt) < probeLifetime {
			continue
		}
		if err := o.engine.RemoveContainer(ctx, container.Name); err != nil {
			return fmt.Errorf("remove container %q: %w", container.Name, err)
		}
	}
	return nil
}

// Start removes what managers left that were killed while they probed: at
// once what is old, and what was not when everything is. A probe that stays
// would keep its network from being removed.
func (o *Observer) Start(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for range 2 {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := o.tidy(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Removing probe containers that were left behind")
		}
		timer.Reset(probeLifetime + time.Second)
	}
	return nil
}

// tidy waits for a probe of our own.
func (o *Observer) tidy(ctx context.Context) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.removeLeftovers(ctx)
}

// hasKernelModules asks whether the host has the directory by creating a
// container that mounts it: there is no other way to look at the file system
// of a host that may be on another machine.
func (o *Observer) hasKernelModules(ctx context.Context, probe preflight.ProbeContainer) (found bool, err error) {
	_, err = o.engine.CreateContainer(ctx, engine.Spec{
		Name:   probe.Name,
		Image:  probe.Image,
		Labels: probe.Labels,
		Mounts: []engine.Mount{{Type: engine.MountBind, Source: "/lib/modules", Target: "/lib/modules", ReadOnly: true}},
	})
	if errors.Is(err, engine.ErrInvalid) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create container %q: %w", probe.Name, err)
	}
	if err := o.engine.RemoveContainer(ctx, probe.Name); err != nil {
		return false, fmt.Errorf("remove container %q: %w", probe.Name, err)
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
