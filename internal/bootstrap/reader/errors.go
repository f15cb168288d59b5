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
	"fmt"
	"strings"
)

// UnsupportedError says that the data is well formed but asks for what cannot be done in a container or is unknown.
// Nothing has been left out silently: all of it is listed.
type UnsupportedError struct {
	// Modules are the names of modules and options, such as "ntp", "users[0].ssh_import_id" or "storage.disks", sorted.
	// They are keys, never values of the data, except a version, the scheme of a URL and the like; those of Ignition say
	// what to do instead.
	Modules []string
}

// Error lists every unsupported module.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("bootstrap data has fields that are not supported in containers: %s", strings.Join(e.Modules, ", "))
}

// InvalidError says that the data is malformed. It never quotes the data, which holds private keys.
type InvalidError struct {
	// Line is the line of the data the problem was met at, counted from 1; 0 when it is not known.
	Line int
	// Problem is what is wrong, in words of this package.
	Problem string
}

// Error says what is wrong and where.
func (e *InvalidError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("bootstrap data is invalid: line %d: %s", e.Line, e.Problem)
	}
	return "bootstrap data is invalid: " + e.Problem
}
