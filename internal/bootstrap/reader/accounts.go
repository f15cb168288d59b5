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

package reader

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// account is the name of a user or group, or a numeric id. It cannot be taken for a flag.
var account = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\$?$`)

// IsAccount reports whether name is one of a user or group.
func IsAccount(name string) bool { return account.MatchString(name) }

// Account reads a name that may be left out; what says whose it is.
func (r *Reader) Account(what string) ReadFunc[string] {
	return func(node *yaml.Node, path string) (string, error) {
		name, err := r.Line(node, path)
		if err == nil && name != "" && !IsAccount(name) {
			return "", r.Invalid(node, "%s is not %s", path, what)
		}
		return name, err
	}
}

// Groups reads a list of names or a string with commas.
func (r *Reader) Groups(node *yaml.Node, path string) ([]string, error) {
	names, err := r.Lines(node, path)
	if err != nil {
		return nil, err
	}
	var groups []string
	for name := range strings.SplitSeq(strings.Join(names, ","), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !IsAccount(name) {
			return nil, r.Invalid(node, "%s has an invalid group name", path)
		}
		groups = append(groups, name)
	}
	return groups, nil
}
