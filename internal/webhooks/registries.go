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

package webhooks

import (
	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// validateRegistries: whether a Secret is there is the controller's to know.
func validateRegistries(path *field.Path, registries []infrav1.Registry) field.ErrorList {
	var errs field.ErrorList
	checked := make([]node.Registry, 0, len(registries))
	for i, registry := range registries {
		converted := node.Registry{Host: registry.Host, CABundle: registry.CABundle}
		for _, mirror := range registry.Mirrors {
			converted.Mirrors = append(converted.Mirrors, node.Mirror{URL: mirror.URL, CABundle: mirror.CABundle})
		}
		checked = append(checked, converted)
		if name := registry.CredentialsSecretName; name != "" {
			for _, wrong := range validation.IsDNS1123Subdomain(name) {
				errs = append(errs, field.Invalid(path.Index(i).Child("credentialsSecretName"), name, wrong))
			}
		}
	}
	for _, refused := range node.CheckRegistries(checked) {
		at := path.Index(refused.Index)
		if refused.Mirror >= 0 {
			at = at.Child("mirrors").Index(refused.Mirror)
		}
		errs = append(errs, field.Invalid(at.Child(refused.Field), refused.Value, refused.Reason+"; "+refused.Remedy))
	}
	return errs
}

// validateImages: whether the engine has an image is the controller's to know.
func validateImages(path *field.Path, images []string) field.ErrorList {
	var errs field.ErrorList
	for i, image := range images {
		errs = append(errs, validateImage(path.Index(i), image)...)
		named, err := reference.ParseNormalizedNamed(image)
		if _, pinned := named.(reference.Digested); err == nil && pinned {
			errs = append(errs, field.Invalid(path.Index(i), image, "has a digest, which is not preserved in nodes; use a tag"))
		}
	}
	return errs
}
