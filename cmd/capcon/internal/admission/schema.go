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

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// checkSchemas of the variables of a place.
func checkSchemas(ctx context.Context, place Place, class []clusterv1.ClusterClassVariable) field.ErrorList {
	definitions := map[string]clusterv1.JSONSchemaProps{}
	for i := range class {
		definitions[class[i].Name] = class[i].Schema.OpenAPIV3Schema
	}
	var errs field.ErrorList
	for _, variable := range place.Variables {
		definition, found := definitions[variable.Name]
		if !found {
			errs = append(errs, field.TypeInvalid(field.NewPath(place.named(variable.Name)), nil, "the ClusterClass has no such variable; correct or remove it, "+page))
			continue
		}
		errs = append(errs, checkSchema(ctx, place.Field(variable.Name), variable.Value.Raw, definition)...)
	}
	return errs
}

// wrapped is the name of the value in an object, which pruning and rules need.
const wrapped = "value"

// inBody is the field again, in what the validator says.
var inBody = regexp.MustCompile(`^\S* in body `)

// checkSchema as Cluster API does: the defaults, the schema, then unknown fields and rules. What is wrong
// with the schema itself is refused when the ClusterClass is created.
func checkSchema(ctx context.Context, at string, raw []byte, definition clusterv1.JSONSchemaProps) field.ErrorList {
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return field.ErrorList{field.TypeInvalid(field.NewPath(at), nil, err.Error())}
	}
	schema, err := internalSchema(definition)
	if err != nil {
		return nil
	}
	structural, err := structuralschema.NewStructural(&apiextensions.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{wrapped: *schema},
	})
	if err != nil {
		return nil
	}
	validator, _, err := validation.NewSchemaValidator(schema)
	if err != nil {
		return nil
	}
	object := map[string]any{wrapped: value}
	defaulting.Default(object, structural)
	errs := validation.ValidateCustomResource(field.NewPath(at), object[wrapped], validator)
	for _, err := range errs {
		err.Detail = inBody.ReplaceAllString(err.Detail, "")
		err.Field = strings.ReplaceAll(err.Field, ".[", "[")
	}
	if len(errs) > 0 {
		return errs
	}
	return append(checkUnknown(at, object, structural), checkRules(ctx, at, object, structural)...)
}

func internalSchema(definition clusterv1.JSONSchemaProps) (*apiextensions.JSONSchemaProps, error) {
	text, err := json.Marshal(definition)
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	var versioned apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &versioned); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	schema := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&versioned, schema, nil); err != nil {
		return nil, fmt.Errorf("convert schema: %w", err)
	}
	return schema, nil
}

func checkUnknown(at string, object map[string]any, structural *structuralschema.Structural) field.ErrorList {
	var errs field.ErrorList
	for _, unknown := range pruning.PruneWithOptions(object, structural, false, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		path := field.NewPath(at + strings.TrimPrefix(unknown, wrapped))
		errs = append(errs, field.TypeInvalid(path, nil, "the ClusterClass has no such field; correct or remove it, "+page))
	}
	return errs
}

func checkRules(ctx context.Context, at string, object map[string]any, structural *structuralschema.Structural) field.ErrorList {
	validator := cel.NewValidator(structural, false, celconfig.PerCallLimit)
	if validator == nil { // no rules
		return nil
	}
	errs, _ := validator.Validate(ctx, nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range errs {
		err.Type, err.Field = field.ErrorTypeTypeInvalid, at+strings.TrimPrefix(err.Field, wrapped)
	}
	return errs
}
