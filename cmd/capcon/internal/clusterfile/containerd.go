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
	"errors"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// containerd returns the patches of containerd's configuration, all as TOML.
func (f *file) containerd() []string {
	patches := f.ContainerdConfigPatches
	for i, patch := range patches {
		at := f.node("containerdConfigPatches", i)
		var invalid toml.ParseError
		if _, err := toml.Decode(patch, &map[string]any{}); errors.As(err, &invalid) {
			f.refuse(textLine(at, invalid.Position.Line), "containerdConfigPatches", "", "does not apply: "+invalid.Message, "correct the TOML of the patch")
		}
	}
	for i, patch := range f.ContainerdConfigPatchesJSON6902 {
		merged := f.mergePatch(patch, f.node("containerdConfigPatchesJSON6902", i))
		if merged == nil {
			continue
		}
		text, err := toml.Marshal(merged)
		if err != nil {
			f.refuse(f.line("containerdConfigPatchesJSON6902", i), "containerdConfigPatchesJSON6902", "", "cannot be written as TOML: "+err.Error(), "use containerdConfigPatches")
			continue
		}
		patches = append(patches, string(text))
	}
	return patches
}

// mergePatch is the merge patch with the effect of a JSON patch, of which that is possible where
// it only sets fields of objects; nil where it is refused.
func (f *file) mergePatch(patch string, at *yaml.Node) map[string]any {
	const path = "containerdConfigPatchesJSON6902"
	var operations []struct {
		Op, Path string
		Value    any
	}
	if err := yaml.Unmarshal([]byte(patch), &operations); err != nil || len(operations) == 0 {
		f.refuse(at.Line, path, "", "is no JSON patch (RFC 6902)", "use a list with op, path and value")
		return nil
	}
	merged := map[string]any{}
	for _, operation := range operations {
		if operation.Op != "add" && operation.Op != "replace" {
			f.refuse(at.Line, path, operation.Op, "only add and replace can be merged into TOML", "use containerdConfigPatches")
			return nil
		}
		steps := strings.Split(strings.TrimPrefix(operation.Path, "/"), "/")
		if slices.ContainsFunc(steps, isListEntry) {
			f.refuse(at.Line, path, operation.Path, "an entry of a list cannot be merged into TOML", "set the whole list, with containerdConfigPatches")
			return nil
		}
		set(merged, steps, operation.Value)
	}
	return merged
}

// isListEntry reports whether a step of a JSON pointer is an index, or the end of a list.
func isListEntry(step string) bool {
	return step == "-" || step != "" && strings.Trim(step, "0123456789") == ""
}

// set a value below an object, at the steps of a JSON pointer.
func set(object map[string]any, steps []string, value any) {
	last := len(steps) - 1
	for i, step := range steps {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if i == last {
			object[step] = value
			return
		}
		below, ok := object[step].(map[string]any)
		if !ok {
			below = map[string]any{}
			object[step] = below
		}
		object = below
	}
}
