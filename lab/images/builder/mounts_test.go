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
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMountsBelow(t *testing.T) {
	t.Parallel()
	const table = `22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:5 / /cache/scratch/a\040b/root/proc rw - proc proc rw
31 30 0:6 / /cache/scratch/a\040b/root/proc/sys rw - sysfs sysfs rw
32 22 0:7 / /cache/scratch-other/proc rw - proc proc rw
broken
`
	want := []string{"/cache/scratch/a b/root/proc/sys", "/cache/scratch/a b/root/proc"}
	if diff := cmp.Diff(want, mountsBelow(table, "/cache/scratch")); diff != "" {
		t.Errorf("innermost first, nothing next to the directory (-want, +got):\n%s", diff)
	}
}
