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

package input

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// maxManifest is the limit of the API server for a ConfigMap, which carries the manifest.
const maxManifest = 1 << 20

// CheckManifest checks a file of --cni: it has Kubernetes objects and fits into a ConfigMap.
func CheckManifest(path, manifest string) []Problem {
	if len(manifest) > maxManifest {
		reason := fmt.Sprintf("has %d bytes, more than the %d of a ConfigMap", len(manifest), maxManifest)
		return []Problem{{"--cni", path, reason, "use --cni none, then apply the file with kubectl"}}
	}
	if reason := manifestProblem(manifest); reason != "" {
		return []Problem{{"--cni", path, reason, "use a file with the Kubernetes objects of a Pod network"}}
	}
	return nil
}

func manifestProblem(manifest string) string {
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 1<<16)
	found := 0
	for document := 1; ; document++ {
		object := unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Sprintf("document %d is not YAML or JSON of an object (%v)", document, err)
		}
		if len(object.Object) == 0 {
			continue // a comment
		}
		found++
		switch {
		case object.GetAPIVersion() == "", object.GetKind() == "":
			return fmt.Sprintf("document %d has no apiVersion or no kind", document)
		case object.GetName() == "" && !object.IsList():
			return fmt.Sprintf("document %d (%s) has no name", document, object.GetKind())
		}
	}
	if found == 0 {
		return "has no objects"
	}
	return ""
}
