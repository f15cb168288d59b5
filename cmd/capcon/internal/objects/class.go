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

package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/templates"
)

// ClassName is the name of the ClusterClass that this program brings along,
// with a hash over its content: a later program with another one does not
// change the clusters that were made with this one.
func ClassName() string { return "container" + classSuffix() }

// classSuffix is of the names of the ClusterClass and its templates. 32 bits
// are enough to distinguish the few releases that a management plane sees.
func classSuffix() string {
	const digits = 8
	sum := sha256.Sum256([]byte(templates.ClusterClass))
	return "-" + hex.EncodeToString(sum[:])[:digits]
}

// NamedClass is the name of the ClusterClass for manifests that are written by hand, which is
// that of the flavor for clusterctl.
const NamedClass = "container"

// Named returns the objects of the class NamedClass. It is created once and never changed: a
// change replaces the Machines of all its clusters. Its templates are its own, because
// "clusterctl move" does not move what another class owns too, and their names have the hash,
// so that those of several releases are never mixed.
func Named(namespace string) ([]client.Object, error) {
	return class(namespace, NamedClass, classSuffix()+"-named")
}

// ClassVariables are those of the ClusterClass that this program brings along.
func ClassVariables() ([]clusterv1.ClusterClassVariable, error) {
	parts, err := utilyaml.ToUnstructured([]byte(templates.ClusterClass))
	if err != nil {
		return nil, fmt.Errorf("read the ClusterClass: %w", err)
	}
	definition := &clusterv1.ClusterClass{}
	for _, part := range parts {
		if part.GetKind() != "ClusterClass" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(part.Object, definition); err != nil {
			return nil, fmt.Errorf("read the ClusterClass: %w", err)
		}
	}
	return definition.Spec.Variables, nil
}

// class returns the templates, and behind them the ClusterClass of this name that refers to
// them. They belong to no cluster: all clusters of the class share them.
func class(namespace, name, suffix string) ([]client.Object, error) {
	objects, err := utilyaml.ToUnstructured([]byte(templates.ClusterClass))
	if err != nil {
		return nil, fmt.Errorf("read the ClusterClass: %w", err)
	}
	var parts []client.Object
	for _, part := range objects {
		part.SetNamespace(namespace)
		part.SetName(part.GetName() + suffix)
		renameReferences(part.Object, suffix)
		if part.GetKind() == "ClusterClass" {
			part.SetName(name)
			parts = append(parts, &part) // the last one, whatever the file's order
			continue
		}
		parts = append([]client.Object{&part}, parts...)
	}
	return parts, nil
}

// renameReferences appends the suffix to the names of all templates that are
// referred to below the value.
func renameReferences(value any, suffix string) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			renameReferences(element, suffix)
		}
	case map[string]any:
		if reference, ok := value["templateRef"].(map[string]any); ok {
			reference["name"] = fmt.Sprint(reference["name"], suffix)
		}
		for _, element := range value {
			renameReferences(element, suffix)
		}
	}
}
