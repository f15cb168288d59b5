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
	"strings"

	"github.com/blang/semver/v4"
	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
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

// warnOfImage tells of a node image whose tag is a version of Kubernetes that
// is not known to work here. Which version a machine shall have is said in
// Cluster API's objects, where controllers find it; a tag is no more than a
// hint, and a person may know better.
func warnOfImage(path *field.Path, image string) admission.Warnings {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return nil
	}
	tagged, ok := named.(reference.Tagged)
	if !ok {
		return nil
	}
	version, isVersion := strings.CutPrefix(tagged.Tag(), "v")
	if _, err := semver.Parse(version); err != nil || !isVersion {
		return nil
	}
	if _, err := node.Minor(tagged.Tag()); err != nil {
		return admission.Warnings{path.String() + " is " + image + ": " + err.Error()}
	}
	return nil
}
