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

// Package manifests reads the CRDs and webhook configurations of a provider, lets them call a
// webhook server by its URL, and installs them.
package manifests

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
)

const (
	kindCRD        = "CustomResourceDefinition"
	kindMutating   = "MutatingWebhookConfiguration"
	kindValidating = "ValidatingWebhookConfiguration"
)

// Manifests are the objects of some files.
type Manifests []unstructured.Unstructured

// Server serves webhooks.
type Server struct {
	Host string
	Port int
	// CABundle certifies it.
	CABundle []byte
}

func (s Server) url() string {
	return "https://" + net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
}

// Read reads YAML files and directories. A directory with a kustomization is built with
// kustomize; of another one, all YAML files are read.
func Read(paths ...string) (Manifests, error) {
	var all Manifests
	for _, path := range paths {
		read, err := readPath(path)
		if err != nil {
			return nil, fmt.Errorf("read manifests in %s: %w", path, err)
		}
		all = append(all, read...)
	}
	return all, nil
}

func readPath(path string) (Manifests, error) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return build(path)
		}
	}
	var all Manifests
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name != path && !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		objects, err := utilyaml.ToUnstructured(content)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		all = append(all, objects...)
		return nil
	})
	return all, err
}

func build(directory string) (Manifests, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, fmt.Errorf("build kustomization: %w", err)
	}
	content, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("write built kustomization: %w", err)
	}
	return utilyaml.ToUnstructured(content)
}

// CRDs of the manifests, whose conversion webhooks are those of the server.
func (m Manifests) CRDs(server Server) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, object := range m.OfKind(kindCRD) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			return nil, fmt.Errorf("read CRD %s: %w", object.GetName(), err)
		}
		if c := crd.Spec.Conversion; c != nil && c.Webhook != nil {
			url := server.url() + "/convert"
			c.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: server.CABundle}
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// crdTimeout is how long the API server may take to serve CRDs. A busy host needs some of it; the default are 10 s.
const crdTimeout = 3 * time.Minute

// InstallCRDs creates the CRDs, and waits until the API server serves them.
func InstallCRDs(config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: crds, MaxTime: crdTimeout}); err != nil {
		return fmt.Errorf("install CRDs: %w", err)
	}
	return nil
}

// NeedServer reports whether the API server calls webhooks of these manifests.
func (m Manifests) NeedServer() bool {
	for _, crd := range m.OfKind(kindCRD) {
		if strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
			return true
		}
	}
	return len(m.OfKind(kindMutating, kindValidating)) > 0
}

// InstallWebhooks creates the webhook configurations, which call the server.
func (m Manifests) InstallWebhooks(ctx context.Context, c client.Client, server Server) error {
	for _, object := range m.OfKind(kindMutating, kindValidating) {
		object = *object.DeepCopy()
		if err := redirect(&object, server); err != nil {
			return fmt.Errorf("prepare %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if err := c.Create(ctx, &object); err != nil {
			return fmt.Errorf("install %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

var errNoWebhook = errors.New("its webhooks are not a list of objects")

// redirect lets a configuration call a URL instead of a Service.
func redirect(configuration *unstructured.Unstructured, server Server) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			return errNoWebhook
		}
		path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		webhook["clientConfig"] = map[string]any{"url": server.url() + path, "caBundle": base64.StdEncoding.EncodeToString(server.CABundle)}
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

// OfKind are the objects of these kinds.
func (m Manifests) OfKind(kinds ...string) Manifests {
	return slices.DeleteFunc(slices.Clone(m), func(o unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
}
