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

package machine

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/docker/cli/cli/config"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// credentialsInterval is how often Secrets with credentials are read: they are not watched,
// because a watch would need permission to list all Secrets.
const credentialsInterval = time.Minute

// credentialsError says what is wrong with the Secret of a registry.
type credentialsError struct {
	secret, reason string
}

// Error implements error. It never quotes the Secret.
func (e *credentialsError) Error() string {
	return fmt.Sprintf("Secret %q %s; create it with \"kubectl create secret docker-registry\", or remove credentialsSecretName", e.secret, e.reason)
}

// needRegistries reads what a container is created with. Invalid credentials are refused
// before anything is created.
func (r *Reconciler) needRegistries(ctx context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	files, err := r.registryFiles(ctx, s)
	if invalid := new(credentialsError); errors.As(err, &invalid) {
		return waitForUser(infrav1.RegistryCredentialsInvalidReason, invalid.Error())
	}
	s.registryFiles = files
	return err
}

// uploadRegistries into the container. containerd reads them with each pull.
func (r *Reconciler) uploadRegistries(ctx context.Context, container string, files map[string]string) error {
	if len(files) == 0 {
		return nil
	}
	archive, err := pack(files)
	if err != nil {
		return err
	}
	if err := r.Engine.Upload(ctx, container, archive); err != nil {
		return fmt.Errorf("upload registry configuration: %w", err)
	}
	return nil
}

// ensureRegistries updates the configuration of registries in a running node, also where
// the spec names no registry any more.
func (r *Reconciler) ensureRegistries(ctx context.Context, s *scope) error {
	if s.containerCluster == nil {
		return nil
	}
	wanted, err := r.registryFiles(ctx, s)
	if invalid := new(credentialsError); errors.As(err, &invalid) {
		return reconcile.Failure{
			Err: invalid, Condition: infrav1.RegistriesConfiguredCondition, Reason: infrav1.RegistryCredentialsInvalidReason, After: reconcile.UserInterval,
		}
	}
	if err != nil {
		return err
	}
	if err := r.updateRegistries(ctx, s, wanted); err != nil {
		return reconcile.Failure{
			Err: err, Condition: infrav1.RegistriesConfiguredCondition, Status: metav1.ConditionUnknown, Reason: infrav1.EngineUnavailableReason,
		}
	}
	if len(s.containerCluster.Spec.Registries) == 0 {
		meta.RemoveStatusCondition(&s.containerMachine.Status.Conditions, infrav1.RegistriesConfiguredCondition)
		return nil
	}
	reconcile.SetCondition(s.containerMachine, metav1.Condition{
		Type: infrav1.RegistriesConfiguredCondition, Status: metav1.ConditionTrue, Reason: infrav1.RegistriesConfiguredReason,
	})
	hasSecret := func(registry infrav1.Registry) bool { return registry.CredentialsSecretName != "" }
	if slices.ContainsFunc(s.containerCluster.Spec.Registries, hasSecret) {
		return reconcile.Wait{After: credentialsInterval}
	}
	return nil
}

// foundRegistries are the files that a container, by its ID, was found to have.
type foundRegistries struct {
	container string
	files     map[string]string
}

// updateRegistries makes the node's files those that are wanted. What this process has
// found equal is not read again.
func (r *Reconciler) updateRegistries(ctx context.Context, s *scope, wanted map[string]string) error {
	key, container := client.ObjectKeyFromObject(s.containerMachine), s.container.Name
	if known, found := r.registries.Load(key); found {
		if known, ok := known.(foundRegistries); ok && known.container == s.container.ID && maps.Equal(known.files, wanted) {
			return nil
		}
	}
	present, err := r.presentRegistries(ctx, container)
	if err != nil {
		return err
	}
	changed := maps.Clone(wanted)
	maps.DeleteFunc(changed, func(name, content string) bool { return present[name] == content })
	if err := r.uploadRegistries(ctx, container, changed); err != nil {
		return err
	}
	if stale := node.StaleRegistryFiles(present, wanted); len(stale) > 0 {
		if _, err := r.Engine.Exec(ctx, container, engine.Command{Args: append([]string{"rm", "-r", "--"}, stale...)}); err != nil {
			return fmt.Errorf("remove registry configuration: %w", err)
		}
	}
	r.registries.Store(key, foundRegistries{s.container.ID, wanted})
	return nil
}

// presentRegistries are the files of the node below node.RegistryDirectory, by their paths
// from the root.
func (r *Reconciler) presentRegistries(ctx context.Context, container string) (_ map[string]string, err error) {
	stream, err := r.Engine.Download(ctx, container, node.RegistryDirectory)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("download registry configuration: %w", err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	present := map[string]string{}
	for archive := tar.NewReader(io.LimitReader(stream, engine.MaxReadBytes)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return present, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read registry configuration: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", header.Name, err)
		}
		present[path.Join(path.Dir(node.RegistryDirectory)[1:], header.Name)] = string(content)
	}
}

// registryFiles that the machine's node should have.
func (r *Reconciler) registryFiles(ctx context.Context, s *scope) (map[string]string, error) {
	if s.containerCluster == nil {
		return nil, nil
	}
	registries := make([]node.Registry, 0, len(s.containerCluster.Spec.Registries))
	for _, registry := range s.containerCluster.Spec.Registries {
		credentials, err := r.credentials(ctx, s.containerCluster.Namespace, registry.CredentialsSecretName)
		if err != nil {
			return nil, err
		}
		configured := node.Registry{Host: registry.Host, CABundle: registry.CABundle}
		if registry.Host != node.AnyRegistry {
			configured.Credentials = credentials[registry.Host]
		}
		for _, mirror := range registry.Mirrors {
			configured.Mirrors = append(configured.Mirrors, node.Mirror{
				URL: mirror.URL, CABundle: mirror.CABundle, Credentials: credentials[registryOf(mirror.URL)],
			})
		}
		registries = append(registries, configured)
	}
	return node.RegistryFiles(registries), nil
}

// credentials of a Secret by their registries.
func (r *Reconciler) credentials(ctx context.Context, namespace, name string) (map[string]node.Credentials, error) {
	if name == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, &credentialsError{name, "not found"}
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %q: %w", name, err)
	}
	content := secret.Data[corev1.DockerConfigJsonKey]
	if !json.Valid(content) {
		return nil, &credentialsError{name, fmt.Sprintf("has invalid JSON in key %q", corev1.DockerConfigJsonKey)}
	}
	// Errors of the package quote what they could not decode.
	file, err := config.LoadFromReader(bytes.NewReader(content))
	if err != nil || len(file.AuthConfigs) == 0 {
		return nil, &credentialsError{name, fmt.Sprintf("has no credentials in key %q", corev1.DockerConfigJsonKey)}
	}
	found := make(map[string]node.Credentials, len(file.AuthConfigs))
	for registry, auth := range file.AuthConfigs {
		found[registryOf(registry)] = node.Credentials{Username: auth.Username, Password: auth.Password}
	}
	return found, nil
}

// dockerHub has more names than one in the files of "docker login".
const dockerHub = "docker.io"

// registryOf a URL, or of a host with or without a path, as image names have it.
func registryOf(text string) string {
	if _, rest, isURL := strings.Cut(text, "://"); isURL {
		text = rest
	}
	parsed, err := url.Parse("https://" + text)
	if err != nil {
		return text
	}
	if host := parsed.Host; host != "index."+dockerHub && host != "registry-1."+dockerHub {
		return host
	}
	return dockerHub
}

// pack files, readable by root alone, into an archive.
func pack(files map[string]string) (io.Reader, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(files[name]))}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := io.WriteString(writer, files[name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack files: %w", err)
	}
	return &archive, nil
}
