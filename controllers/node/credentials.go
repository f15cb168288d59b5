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
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/docker/cli/cli/config"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nodespec "github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// CredentialsError says what is wrong with the Secret of a registry.
type CredentialsError struct {
	secret, reason string
}

// Error implements error. It never quotes the Secret.
func (e *CredentialsError) Error() string {
	return fmt.Sprintf("Secret %q %s; create it with \"kubectl create secret docker-registry\", or remove credentialsSecretName", e.secret, e.reason)
}

// credentials of a Secret by their registries.
func (r *Reconciler) credentials(ctx context.Context, namespace, name string) (map[string]nodespec.Credentials, error) {
	if name == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, &CredentialsError{name, "not found"}
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %q: %w", name, err)
	}
	content := secret.Data[corev1.DockerConfigJsonKey]
	if !json.Valid(content) {
		return nil, &CredentialsError{name, fmt.Sprintf("has invalid JSON in key %q", corev1.DockerConfigJsonKey)}
	}
	// Errors of the package quote what they could not decode.
	file, err := config.LoadFromReader(bytes.NewReader(content))
	if err != nil || len(file.AuthConfigs) == 0 {
		return nil, &CredentialsError{name, fmt.Sprintf("has no credentials in key %q", corev1.DockerConfigJsonKey)}
	}
	credentials := make(map[string]nodespec.Credentials, len(file.AuthConfigs))
	for registry, auth := range file.AuthConfigs {
		credentials[registryOf(registry)] = nodespec.Credentials{Username: auth.Username, Password: auth.Password}
	}
	return credentials, nil
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
