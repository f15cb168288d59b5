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
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/engineobject"
)

// EngineError says why the engine of a ContainerEngine is not used.
type EngineError struct {
	// Name of the ContainerEngine.
	Name string
	// Err is the cause.
	Err    error
	Remedy string
}

// Error implements error.
func (e *EngineError) Error() string {
	return fmt.Sprintf("engine %q: %v; %s", e.Name, e.Err, e.Remedy)
}

// Unwrap returns the cause.
func (e *EngineError) Unwrap() error { return e.Err }

// ContainerEngines of the management plane, which answers.
func (m *ManagementPlane) ContainerEngines(ctx context.Context) ([]infrav1.ContainerEngine, error) {
	list := &infrav1.ContainerEngineList{}
	err := m.RetryTransient(ctx, func() error { return m.Client.List(ctx, list, client.InNamespace(management.Namespace)) })
	if err != nil {
		return nil, fmt.Errorf("list ContainerEngines: %w", err)
	}
	return list.Items, nil
}

// ContainerEngine of a name; none: an *EngineError.
func (m *ManagementPlane) ContainerEngine(ctx context.Context, name string) (*infrav1.ContainerEngine, error) {
	all, err := m.ContainerEngines(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	return nil, m.NoEngine(name, names...)
}

// NoEngine of a name, where others are.
func (m *ManagementPlane) NoEngine(name string, others ...string) error {
	return &EngineError{
		Name:   name,
		Err:    fmt.Errorf("not found in the %s, which has %s", m.ManagementCluster(), cmp.Or(strings.Join(others, ", "), "no engines")),
		Remedy: fmt.Sprintf("add it with \"%s engine add\"", m.Program),
	}
}

// On returns the session on the engine of a ContainerEngine. It is for the containers of clusters: the management plane is on the
// engine of this one. Closing this one closes it. What the management plane does not reach is not dialed, nor is what it does not
// allow: an *EngineError.
func (s *Session) On(ctx context.Context, object *infrav1.ContainerEngine) (*Session, error) {
	correct := s.correct(object.Name)
	failed := func(err error, remedy string) (*Session, error) {
		return nil, &EngineError{Name: object.Name, Err: err, Remedy: remedy}
	}
	if ptr.Deref(object.Spec.Lost, false) {
		return failed(errors.New("spec.lost says that it is gone"), fmt.Sprintf("if it is back, set that to false with kubectl (\"%s kubeconfig --management\")", s.Program))
	}
	reachable := conditions.Get(object, infrav1.EngineReachableCondition)
	switch {
	case reachable == nil, reachable.Status == metav1.ConditionUnknown, reachable.ObservedGeneration < object.Generation:
		return failed(errors.New("the management plane has not connected to it yet"),
			fmt.Sprintf("run the command again when \"%s engine list\" says that it is Ready", s.Program))
	case reachable.Status == metav1.ConditionFalse:
		return failed(fmt.Errorf("the management plane does not reach it: %s: %s", reachable.Reason, management.OneLine(reachable.Message)), correct)
	}
	on, err := s.connectTo(ctx, object)
	if err != nil {
		return failed(err, correct)
	}
	recorded := object.Annotations[infrav1.EngineAnnotation]
	if id := on.Info.StorageID; id != "" && recorded != "" && id != recorded {
		return failed(fmt.Errorf("another engine responds (storage %s, not %s)", id, recorded), correct)
	}
	return on, nil
}

// correct says what to do about an engine that is not reached.
func (s *Session) correct(name string) string {
	return fmt.Sprintf("see \"%s engine list -o wide\"; to correct how it is reached, run \"%s engine add %s\" again", s.Program, s.Program, name)
}

// reached is a session on the engine of an object, as the object and its Secret were then.
type reached struct {
	version string
	session *Session
}

// connectTo the engine of an object, as the manager does, unless that was done before.
func (s *Session) connectTo(ctx context.Context, object *infrav1.ContainerEngine) (*Session, error) {
	at, err := endpoint.Parse(object.Spec.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("spec.endpoint %w", err)
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: object.Namespace, Name: object.Spec.CredentialsSecretName}
	if err := s.Client.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("its credentials are not found: Secret %q", key.Name)
		}
		return nil, fmt.Errorf("get Secret %q: %w", key.Name, err)
	}
	version := fmt.Sprintf("%s %d %s", object.UID, object.Generation, secret.ResourceVersion)
	if before := s.reached[client.ObjectKeyFromObject(object)]; before.version == version {
		return before.session, nil
	}
	dialed, err := engineobject.NewClient(at, engineobject.CredentialsOf(secret.Data), s.OpenEngine)
	if err != nil {
		return nil, fmt.Errorf("read Secret %q: %w", key.Name, err)
	}
	limited, err := metered.New(dialed, prometheus.NewRegistry(), metered.Options{Engine: object.Name})
	if err != nil {
		return nil, errors.Join(err, dialed.Close())
	}
	s.opened = append(s.opened, limited)
	info, err := limited.Info(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // It says what was connected to.
	}
	manager := *s.ManagementPlane
	manager.Records = s.Records.Reading(limited)
	on := &Session{ManagementPlane: &manager, Engine: limited, Info: info, EngineName: object.Name}
	if s.reached == nil {
		s.reached = map[client.ObjectKey]reached{}
	}
	s.reached[client.ObjectKeyFromObject(object)] = reached{version: version, session: on}
	return on, nil
}
