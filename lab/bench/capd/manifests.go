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

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// manifests are those of one manager, read from its own config directory.
type manifests struct {
	// name prefixes the names of webhook configurations and roles, as
	// kustomize would.
	name, config string
	// labels of the CRDs: the versions that keep Cluster API's contract.
	labels map[string]string
	// webhooks is where the manager serves them; empty where it has none.
	webhooks string
	caBundle []byte
}

// install applies CRDs, webhook configurations and roles.
func (m manifests) install(ctx context.Context, api client.Client) error {
	objects, err := m.objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := api.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := awaitEstablished(ctx, api, object.GetName()); err != nil {
			return err
		}
	}
	return nil
}

func awaitEstablished(ctx context.Context, api client.Client, name string) error {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		if err := api.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
			return false, err
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for CRD %s: %w", name, err)
	}
	return nil
}

func (m manifests) objects() ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(m.config, "crd", "bases", "*.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("find CRDs in %s: %d found, %w", m.config, len(paths), err)
	}
	paths = append(paths, filepath.Join(m.config, "rbac", "role.yaml"))
	for _, optional := range []string{filepath.Join("rbac", "aggregated_role.yaml"), filepath.Join("webhook", "manifests.yaml")} {
		if path := filepath.Join(m.config, optional); exists(path) {
			paths = append(paths, path)
		}
	}
	var all []*unstructured.Unstructured
	for _, path := range paths {
		objects, err := readObjects(path)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if err := m.prepare(object); err != nil {
				return nil, fmt.Errorf("prepare %s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
		all = append(all, objects...)
	}
	return all, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// prepare does what kustomize and cert-manager do.
func (m manifests) prepare(object *unstructured.Unstructured) error {
	switch object.GetKind() {
	case "CustomResourceDefinition":
		object.SetLabels(m.labels)
		versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
		if err != nil || len(versions) < 2 || m.webhooks == "" {
			return err
		}
		return unstructured.SetNestedMap(object.Object, map[string]any{
			"strategy": "Webhook",
			"webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"},
				"clientConfig":             m.clientConfig("/convert"),
			},
		}, "spec", "conversion")
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		object.SetName(m.name + "-" + object.GetName())
		webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, w := range webhooks {
			webhook := w.(map[string]any)
			path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
			if err != nil {
				return err
			}
			webhook["clientConfig"] = m.clientConfig(path)
		}
		return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
	default:
		object.SetName(m.name + "-" + object.GetName())
		return nil
	}
}

func (m manifests) clientConfig(path string) map[string]any {
	return map[string]any{"url": m.webhooks + path, "caBundle": base64.StdEncoding.EncodeToString(m.caBundle)}
}

// binding gives a user the manager's own role.
func (m manifests) binding(role, user string) *rbacv1.ClusterRoleBinding {
	binding := &rbacv1.ClusterRoleBinding{
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: m.name + "-" + role},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	binding.Name = m.name + "-" + role
	return binding
}

// readObjects reads a file of YAML documents.
func readObjects(path string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	objects, err := parseObjects(content)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return objects, nil
}

func parseObjects(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, document := range regexp.MustCompile(`(?m)^---\s*$`).Split(string(content), -1) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("parse document: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
	return objects, nil
}
