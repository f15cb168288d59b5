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

package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	nodespec "github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// credentialsInterval is how often Secrets with credentials are read: they are not watched,
// because a watch would need permission to list all Secrets.
const credentialsInterval = time.Minute

// configureRegistries updates the configuration of registries in a running node, also where
// the spec names no registry any more.
func (r *Reconciler) configureRegistries(ctx context.Context, s Scope) error {
	if s.ContainerCluster == nil {
		ctrl.LoggerFrom(ctx).V(4).Info("Leaving the registries as they are, because there is no ContainerCluster")
		return nil
	}
	desired, err := r.RegistryFiles(ctx, s.ContainerCluster)
	if invalid := new(CredentialsError); errors.As(err, &invalid) {
		return reconcile.Failure{
			Err: invalid, Condition: infrav1.RegistriesConfiguredCondition, Reason: infrav1.RegistryCredentialsInvalidReason, After: reconcile.UserInterval,
		}
	}
	if err != nil {
		return err
	}
	if err := r.updateRegistries(ctx, s, desired); err != nil {
		return reconcile.Failure{
			Err: err, Condition: infrav1.RegistriesConfiguredCondition, Status: metav1.ConditionUnknown, Reason: infrav1.EngineUnavailableReason,
		}
	}
	if len(s.ContainerCluster.Spec.Registries) == 0 {
		meta.RemoveStatusCondition(&s.ContainerMachine.Status.Conditions, infrav1.RegistriesConfiguredCondition)
		return nil
	}
	reconcile.SetCondition(s.ContainerMachine, metav1.Condition{
		Type: infrav1.RegistriesConfiguredCondition, Status: metav1.ConditionTrue, Reason: infrav1.RegistriesConfiguredReason,
	})
	hasSecret := func(registry infrav1.Registry) bool { return registry.CredentialsSecretName != "" }
	if slices.ContainsFunc(s.ContainerCluster.Spec.Registries, hasSecret) {
		return reconcile.Wait{After: credentialsInterval}
	}
	return nil
}

// cachedRegistries are the files that a container has, by its ID.
type cachedRegistries struct {
	container string
	files     map[string]string
}

// updateRegistries makes the node's files the desired ones. What this process has seen to be
// equal is not read again.
func (r *Reconciler) updateRegistries(ctx context.Context, s Scope, desired map[string]string) error {
	key, container := client.ObjectKeyFromObject(s.ContainerMachine), s.Container.Name
	if known, found := r.registries.Load(key); found {
		if known, ok := known.(cachedRegistries); ok && known.container == s.Container.ID && maps.Equal(known.files, desired) {
			return nil
		}
	}
	existing, err := existingRegistries(ctx, s.Engine, container)
	if err != nil {
		return err
	}
	changed := maps.Clone(desired)
	maps.DeleteFunc(changed, func(name, content string) bool { return existing[name] == content })
	if err := UploadRegistries(ctx, s.Engine, container, changed); err != nil {
		return err
	}
	if stale := nodespec.StaleRegistryFiles(existing, desired); len(stale) > 0 {
		if _, err := s.Engine.Exec(ctx, container, engine.Command{Args: append([]string{"rm", "-r", "--"}, stale...)}); err != nil {
			return fmt.Errorf("remove registry configuration: %w", err)
		}
	}
	r.RecordRegistries(key, s.Container.ID, desired)
	return nil
}

// RecordRegistries says which files a container was created with.
func (r *Reconciler) RecordRegistries(machine client.ObjectKey, containerID string, files map[string]string) {
	r.registries.Store(machine, cachedRegistries{containerID, files})
}

// RegistryFiles are what the nodes of a cluster should have, as contents by their paths from
// the root. They may have credentials in them. A *CredentialsError says that these are invalid.
func (r *Reconciler) RegistryFiles(ctx context.Context, cluster *infrav1.ContainerCluster) (map[string]string, error) {
	if cluster == nil {
		return nil, nil
	}
	registries := make([]nodespec.Registry, 0, len(cluster.Spec.Registries))
	for _, registry := range cluster.Spec.Registries {
		credentials, err := r.credentials(ctx, cluster.Namespace, registry.CredentialsSecretName)
		if err != nil {
			return nil, err
		}
		configured := nodespec.Registry{Host: registry.Host, CABundle: registry.CABundle}
		if registry.Host != nodespec.AnyRegistry {
			configured.Credentials = credentials[registry.Host]
		}
		for _, mirror := range registry.Mirrors {
			configured.Mirrors = append(configured.Mirrors, nodespec.Mirror{
				URL: mirror.URL, CABundle: mirror.CABundle, Credentials: credentials[registryOf(mirror.URL)],
			})
		}
		registries = append(registries, configured)
	}
	return nodespec.RegistryFiles(registries), nil
}
