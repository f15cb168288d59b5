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

package nodefiles

import (
	"path"
	"slices"
	"strings"
)

const (
	containerd = "containerd"
	kubelet    = "kubelet"
)

// Restarts says which unit reads the files of a directory only when it starts.
type Restarts struct {
	// Directory with all that is below it, or one file.
	Directory string
	// Unit that is restarted; empty = none, what reads the file notices the change.
	Unit string
}

// RestartTable is the table of docs/how-to/in-place-updates.md. The first entry that has a path decides; a path in none of them restarts nothing.
func RestartTable() []Restarts {
	return []Restarts{
		{"/etc/containerd/certs.d", ""},
		{"/etc/containerd", containerd},
		{"/etc/systemd/system/containerd.service.d", containerd},
		{"/etc/systemd/system/kubelet.service.d", kubelet},
		{"/etc/kubernetes/manifests", ""},
	}
}

// unitOf a path; empty = none.
func unitOf(name string) string {
	for _, entry := range RestartTable() {
		if isBelow(entry.Directory, name) {
			return entry.Unit
		}
	}
	return ""
}

// isBelow a directory, or the same.
func isBelow(directory, name string) bool {
	return name == directory || strings.HasPrefix(name, strings.TrimSuffix(path.Clean(directory), "/")+"/")
}

func unitsOf(files []File, paths []string) []string {
	for _, file := range files {
		paths = append(slices.Clone(paths), file.Path)
	}
	var units []string
	for _, name := range paths {
		if unit := unitOf(name); unit != "" && !slices.Contains(units, unit) {
			units = append(units, unit)
		}
	}
	return units
}
