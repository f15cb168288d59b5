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

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// removeScratch removes a directory that a killed build may have left mounts
// in: debootstrap mounts /proc and /sys into the root file system it makes.
func removeScratch(directory string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	for _, path := range mountsBelow(string(table), directory) {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", path, err)
		}
	}
	return os.RemoveAll(directory)
}

// mountsBelow are the mount points in a directory, the innermost first.
func mountsBelow(table, directory string) []string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var found []string
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 4 {
			found = append(found, unescape.Replace(fields[4]))
		}
	}
	slices.Reverse(found) // the table is in the order of mounting
	return slices.DeleteFunc(found, func(path string) bool {
		return !strings.HasPrefix(path, directory+string(filepath.Separator))
	})
}
