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

package release

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/config/crd"
)

// OutdatedError says what an installed definition lacks.
type OutdatedError struct {
	// Definition is the name of the CustomResourceDefinition.
	Definition string
	// Lacks are fields, such as spec.ownerID, or versions; empty if the definition itself
	// is missing.
	Lacks []string
}

// Error implements error.
func (e *OutdatedError) Error() string {
	problem := "not found"
	if len(e.Lacks) > 0 {
		problem = "lacks " + strings.Join(e.Lacks, ", ") + " (older than this manager)"
	}
	return fmt.Sprintf("CustomResourceDefinition %s %s; apply the CRDs of this release, for example with \"clusterctl upgrade apply\"",
		e.Definition, problem)
}

// CheckDefinitions returns an *OutdatedError unless the API server has all definitions of this
// release, with all their fields. They may have more. An API server drops fields that a
// definition lacks, without an error: the manager would lose what it writes into them, such
// as the owner ID that it finds a cluster's containers by. The scheme of the reader has the
// types of apiextensions.k8s.io/v1.
func CheckDefinitions(ctx context.Context, api client.Reader) error {
	needed, err := embedded()
	if err != nil {
		return err
	}
	for i := range needed {
		installed := &apiextensionsv1.CustomResourceDefinition{}
		err := api.Get(ctx, client.ObjectKeyFromObject(&needed[i]), installed)
		if apierrors.IsNotFound(err) {
			return &OutdatedError{Definition: needed[i].Name}
		}
		if err != nil {
			return fmt.Errorf("get CustomResourceDefinition %s: %w", needed[i].Name, err)
		}
		if missing := lacks(installed.Spec.Versions, needed[i].Spec.Versions); len(missing) > 0 {
			return &OutdatedError{Definition: needed[i].Name, Lacks: missing}
		}
	}
	return nil
}

// embedded returns the definitions of this release.
func embedded() ([]apiextensionsv1.CustomResourceDefinition, error) {
	paths, err := fs.Glob(crd.FS, "bases/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list CRDs of this release: %w", err)
	}
	definitions := make([]apiextensionsv1.CustomResourceDefinition, len(paths))
	for i, path := range paths {
		content, err := fs.ReadFile(crd.FS, path)
		if err == nil {
			err = yaml.UnmarshalStrict(content, &definitions[i])
		}
		if err != nil {
			return nil, fmt.Errorf("read CRD %s of this release: %w", path, err)
		}
	}
	return definitions, nil
}

// lacks returns what installed versions lack of those that are needed.
func lacks(installed, needed []apiextensionsv1.CustomResourceDefinitionVersion) []string {
	var missing []string
	for _, version := range needed {
		at := slices.IndexFunc(installed, func(i apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return i.Name == version.Name && i.Served && i.Schema != nil && i.Schema.OpenAPIV3Schema != nil
		})
		if at < 0 {
			missing = append(missing, "version "+version.Name)
			continue
		}
		missing = append(missing, fields("", *installed[at].Schema.OpenAPIV3Schema, *version.Schema.OpenAPIV3Schema)...)
	}
	return missing
}

// fields returns the paths that an installed schema lacks, sorted, without those below a
// path that it lacks.
func fields(path string, installed, needed apiextensionsv1.JSONSchemaProps) []string {
	if ptr.Deref(installed.XPreserveUnknownFields, false) {
		return nil
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(needed.Properties)) {
		child := strings.TrimPrefix(path+"."+name, ".")
		if has, ok := installed.Properties[name]; ok {
			missing = append(missing, fields(child, has, needed.Properties[name])...)
		} else {
			missing = append(missing, child)
		}
	}
	if need := element(needed); need != nil {
		if has := element(installed); has != nil {
			missing = append(missing, fields(path+"[]", *has, *need)...)
		} else {
			missing = append(missing, path+"[]")
		}
	}
	return missing
}

// element is the schema of what a list or a map holds; nil for anything else.
func element(schema apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	switch {
	case schema.Items != nil:
		return schema.Items.Schema
	case schema.AdditionalProperties != nil:
		return schema.AdditionalProperties.Schema
	default:
		return nil
	}
}
