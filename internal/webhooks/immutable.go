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
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// pinned refuses another value than the one there was, if there was one. The
// reason completes "is X for life, since …".
func pinned[T comparable](path *field.Path, before, after T, reason string) field.ErrorList {
	var none T
	if before == none || before == after {
		return nil
	}
	return field.ErrorList{field.Invalid(path, after, fmt.Sprintf("is %v for life, since %s", before, reason))}
}

const templateIsImmutable = "cannot change, since objects were made from it; create a template of another name, and refer to that one"

// unchanged refuses each field that differs, with the same message.
func unchanged(path *field.Path, before, after any, message string) field.ErrorList {
	old, oldErr := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	now, nowErr := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if oldErr != nil || nowErr != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("compare fields: %w, %w", oldErr, nowErr))}
	}
	names := sets.KeySet(old).Union(sets.KeySet(now)).UnsortedList()
	slices.Sort(names)
	var errs field.ErrorList
	for _, name := range names {
		if !equality.Semantic.DeepEqual(old[name], now[name]) {
			errs = append(errs, field.Invalid(path.Child(name), now[name], message))
		}
	}
	return errs
}
