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

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// Container of a cluster.
type Container struct {
	engine.Container
	// On is the session on the engine that has it.
	On *Session
}

// Containers of an owner's cluster on all engines that it is on. Those on engines that are reached are returned with an error
// too, which names the others.
func (s *Session) Containers(ctx context.Context, owner identity.Owner) ([]Container, error) {
	names, err := s.engineNames(ctx, owner.Namespace, owner.Cluster)
	if err != nil {
		return nil, err
	}
	return s.ContainersOn(ctx, owner, names)
}

// ContainersOn the engines of these names, as Containers does; see management.EngineNames.
func (s *Session) ContainersOn(ctx context.Context, owner identity.Owner, names []string) (all []Container, err error) {
	for _, name := range names {
		on, failed := s.OnNamed(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: name})
		if failed == nil && on.Engine != nil { // None: only its management cluster is connected to.
			var containers []engine.Container
			containers, failed = on.Records.ListContainers(ctx, owner)
			all = append(all, on.Containing(containers)...)
			if failed != nil && on != s {
				failed = &EngineError{Name: name, Err: failed, Remedy: s.correct(name)}
			}
		}
		err = errors.Join(err, failed)
	}
	return all, err
}

// CheckReached says which engines of a cluster of the namespace default are not reached: *EngineErrors.
func (s *Session) CheckReached(ctx context.Context, cluster string) error {
	names, err := s.engineNames(ctx, management.Namespace, cluster)
	for _, name := range names {
		_, failed := s.OnNamed(ctx, client.ObjectKey{Namespace: management.Namespace, Name: name})
		err = errors.Join(err, failed)
	}
	return err
}

// Containing are containers of the engine of this session.
func (s *Session) Containing(containers []engine.Container) []Container {
	all := make([]Container, len(containers))
	for i := range containers {
		all[i] = Container{Container: containers[i], On: s}
	}
	return all
}

// Of returns the session on the engine that a cluster of the namespace default names, which has its load balancer. Machines
// may be on others: see Containers.
func (s *Session) Of(ctx context.Context, cluster string) (*Session, error) {
	names, err := s.engineNames(ctx, management.Namespace, cluster)
	if err != nil {
		return s, err
	}
	return s.OnNamed(ctx, client.ObjectKey{Namespace: management.Namespace, Name: names[0]})
}

// OnNamed returns the session on the engine of a ContainerEngine, as On does; this one without a name.
func (s *Session) OnNamed(ctx context.Context, key client.ObjectKey) (*Session, error) {
	if key.Name == "" {
		return s, nil
	}
	if s.Client == nil {
		return nil, &EngineError{
			Name: key.Name, Err: fmt.Errorf("its credentials are in the %s, which does not respond", s.ManagementCluster()),
			Remedy: fmt.Sprintf("start that with \"%s plane up\"", s.Program),
		}
	}
	if key.Namespace == management.Namespace {
		object, err := s.ContainerEngine(ctx, key.Name)
		if err != nil {
			return nil, err
		}
		return s.On(ctx, object)
	}
	object := &infrav1.ContainerEngine{}
	err := s.Client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return nil, &EngineError{Name: key.Name, Err: fmt.Errorf("not found in namespace %q", key.Namespace), Remedy: "create the ContainerEngine"}
	}
	if err != nil {
		return nil, fmt.Errorf("get ContainerEngine %q: %w", key.Name, err)
	}
	return s.On(ctx, object)
}

// engineNames of a cluster as management.EngineNames returns them, from the management plane or, where that does not answer or has no such
// cluster, from memory.
func (s *Session) engineNames(ctx context.Context, namespace, cluster string) ([]string, error) {
	var notRead error
	if s.Client != nil {
		infrastructure, err := management.Infrastructure(ctx, s.Client, namespace, cluster)
		if err == nil && infrastructure.Name != "" {
			machines, err := management.ContainerMachines(ctx, s.Client, namespace, cluster)
			return management.EngineNames(infrastructure, machines), err
		}
		notRead = err
	}
	if saved, _ := s.Records.Get(cluster); namespace == management.Namespace && saved.OwnerID != "" {
		return []string{saved.EngineName}, nil
	}
	return []string{""}, notRead
}

// MachinesElsewhere are the machines of the management plane that are on ContainerEngines; none while it does not answer.
func (s *Session) MachinesElsewhere(ctx context.Context) ([]infrav1.ContainerMachine, error) {
	if answers, err := s.planeAnswers(ctx); err != nil || !answers {
		return nil, err
	}
	list := &infrav1.ContainerMachineList{}
	if err := s.RetryTransient(ctx, func() error { return s.Client.List(ctx, list) }); err != nil {
		return nil, fmt.Errorf("list ContainerMachines: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(machine infrav1.ContainerMachine) bool {
		return machine.Annotations[infrav1.EngineNameAnnotation] == ""
	}), nil
}

// planeAnswers reports whether there is a management plane of capcon that answers.
func (s *Session) planeAnswers(ctx context.Context) (bool, error) {
	_, err := s.ReachPlane(ctx)
	if foreign := new(plane.ForeignError); errors.As(err, &foreign) {
		return false, nil
	}
	return err == nil && s.Client != nil, err
}
