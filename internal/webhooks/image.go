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
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkImage: an empty one is chosen by the controllers.
func checkImage(path *field.Path, image string) field.ErrorList {
	if image == "" {
		return nil
	}
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return field.ErrorList{field.Invalid(path, image,
			"is no reference to an image; write it as NAME:TAG or NAME@DIGEST, in lower case")}
	}
	return nil
}
