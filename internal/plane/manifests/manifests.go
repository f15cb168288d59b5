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

package manifests

import (
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
)

// capi has one file per object, in a directory per provider.
//
//go:embed capi
var capi embed.FS

// The kinds that are installed.
const (
	kindCRD        = "CustomResourceDefinition"
	kindMutating   = "MutatingWebhookConfiguration"
	kindValidating = "ValidatingWebhookConfiguration"
	kindNamespace  = "Namespace"
	kindProvider   = "Provider"
)

// errUnexpected: a file holds something that is not installed here.
var errUnexpected = errors.New("neither a CRD nor a webhook configuration")

// Server is who serves the webhooks.
type Server struct {
	// URL such as "https://127.0.0.1:9443", without a path.
	URL string
	// CABundle certifies it.
	CABundle []byte
}

// Objects returns clusterctl's inventory, and the CRDs and webhook configurations
// of Cluster API and of more file systems (files .json, one object each, or
// .yaml), with every webhook at the server, and labeled as clusterctl does.
func Objects(server Server, more ...fs.FS) ([]*unstructured.Unstructured, error) {
	recorded, err := inventory()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, files := range append([]fs.FS{capi}, more...) {
		read, err := readAll(files)
		if err != nil {
			return nil, err
		}
		objects = append(objects, read...)
	}
	if err := server.Serve(objects); err != nil {
		return nil, err
	}
	objects = append(recorded, objects...)
	for _, o := range objects {
		// By it "clusterctl move" finds the kinds whose objects it moves.
		o.SetLabels(labels.Merge(o.GetLabels(), labels.Set{clusterctlv1.ClusterctlLabel: ""}))
	}
	return objects, nil
}

func readAll(files fs.FS) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".json" {
			o := &unstructured.Unstructured{}
			objects = append(objects, o)
			err = o.UnmarshalJSON(content)
		} else if path.Ext(name) == ".yaml" {
			var read []unstructured.Unstructured
			read, err = utilyaml.ToUnstructured(content)
			for i := range read {
				objects = append(objects, &read[i])
			}
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	return objects, nil
}

// Serve lets the API server call the server for the CRDs and webhook configurations.
func (s Server) Serve(objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if err := s.serve(o); err != nil {
			return fmt.Errorf("prepare %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// serve points the object's webhooks at the server.
func (s Server) serve(o *unstructured.Unstructured) error {
	switch o.GetKind() {
	case kindCRD:
		return s.serveConversion(o)
	case kindMutating, kindValidating:
		return s.serveAdmission(o)
	default:
		return errUnexpected
	}
}

// serveConversion of a definition that has several versions: where every manager of
// controller-runtime serves conversion.
func (s Server) serveConversion(crd *unstructured.Unstructured) error {
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) < 2 {
		return err
	}
	return unstructured.SetNestedMap(crd.Object, map[string]any{
		"strategy": "Webhook",
		"webhook":  map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": s.clientConfig("/convert")},
	}, "spec", "conversion")
}

func (s Server) serveAdmission(configuration *unstructured.Unstructured) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			return fmt.Errorf("webhook of type %T: %w", w, errUnexpected)
		}
		path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		webhook["clientConfig"] = s.clientConfig(path)
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

func (s Server) clientConfig(path string) map[string]any {
	return map[string]any{"url": s.URL + path, "caBundle": base64.StdEncoding.EncodeToString(s.CABundle)}
}
