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

package clusterfile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	sigsyaml "sigs.k8s.io/yaml"
)

// argumentByName is a path of v1beta3, where arguments are a map.
var argumentByName = regexp.MustCompile(`/(extraArgs|kubeletExtraArgs)/[^/]*[^/0-9-]`)

// namesArgument reports whether an operation is about an argument in a map.
func namesArgument(operation jsonpatch.Operation) bool {
	pointer, _ := operation.Path() // It has been checked.
	return argumentByName.MatchString(pointer)
}

// patch applies a JSON patch (RFC 6902) to the document of its kind.
func (f *file) patch(into documents, patch v1alpha4.PatchJSON6902, at *yaml.Node, path string, kinds ...string) {
	text := child(at, "patch")
	apiVersion := ""
	if patch.Version != "" {
		apiVersion = strings.TrimPrefix(patch.Group+"/"+patch.Version, "/")
	}
	if patch.Group == "" {
		apiVersion = ""
	}
	if refused, ok := checkVersion(patch.Kind, apiVersion); !ok {
		f.refuse(at.Line, path, strings.TrimSpace(patch.Kind+" "+apiVersion), refused.reason, refused.remedy)
		return
	}
	if len(kinds) > 0 && !slices.Contains(kinds, patch.Kind) {
		f.refuse(at.Line, path, patch.Kind, "the whole cluster has one", "move the patch to kubeadmConfigPatchesJSON6902 of the cluster")
		return
	}
	operations, line := f.operations(text, patch.Kind, path)
	if operations == nil {
		return
	}
	before := clone(into[patch.Kind])
	if !slices.ContainsFunc(operations, namesArgument) {
		listed(before)
	}
	document, err := json.Marshal(before)
	if err == nil {
		document, err = operations.Apply(document)
	}
	after := map[string]any{}
	if err == nil {
		err = json.Unmarshal(document, &after)
	}
	if err == nil {
		err = named(after)
	}
	if err != nil {
		f.refuse(line, path, "", "does not apply: "+err.Error(), "correct the patch")
		return
	}
	into[patch.Kind] = after
}

// operations of a patch, whose paths have a home; nil where they are refused.
func (f *file) operations(text *yaml.Node, kind, path string) (jsonpatch.Patch, int) {
	if text == nil {
		text = &yaml.Node{}
	}
	var list yaml.Node
	raw, err := sigsyaml.YAMLToJSON([]byte(text.Value))
	if err == nil {
		err = yaml.Unmarshal([]byte(text.Value), &list)
	}
	var operations jsonpatch.Patch
	if err == nil {
		operations, err = jsonpatch.DecodePatch(raw)
	}
	if err != nil || len(operations) == 0 || len(list.Content) == 0 {
		f.refuse(text.Line, path, "", fmt.Sprintf("is no JSON patch (RFC 6902): %v", err), "use a list with op, path and value")
		return nil, 0
	}
	refused := false
	for i, operation := range operations {
		line := textLine(text, list.Content[0].Content[i].Line)
		pointer, err := operation.Path()
		field := strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
		exact, _ := home(kind, field)
		switch {
		case err != nil:
			f.refuse(line, path, "", err.Error(), "give the operation a path")
		case !exact:
			no := refusalOf(field)
			f.refuse(line, path+": "+kind+"."+field, pointer, no.reason, no.remedy)
		default:
			continue
		}
		refused = true
	}
	if refused {
		return nil, 0
	}
	return operations, textLine(text, list.Content[0].Line)
}

// clone of a document.
func clone(document map[string]any) map[string]any {
	text, _ := json.Marshal(document) // It consists of YAML.
	copied := map[string]any{}
	_ = json.Unmarshal(text, &copied)
	return copied
}
