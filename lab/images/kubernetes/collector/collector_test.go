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

package collector

import "testing"

func TestPace(t *testing.T) {
	t.Parallel()
	var p pace
	observe := func(intervals int, bytes uint64, percent int, changed bool) {
		t.Helper()
		for i := range intervals {
			last := i == intervals-1
			if got := p.observe(bytes); got != (changed && last) {
				t.Fatalf("Interval %d of %d with %d bytes: changed %t", i+1, intervals, bytes, got)
			}
		}
		if p.percent() != percent {
			t.Errorf("After %d intervals with %d bytes each: %d %%, want %d", intervals, bytes, p.percent(), percent)
		}
	}
	observe(startIntervals-1, 1<<30, startPercent, false)
	observe(1, 0, busyPercent, true)
	observe(quietIntervals-2, 0, busyPercent, false)
	observe(1, quietBytes+1, busyPercent, false)
	observe(quietIntervals-1, quietBytes, busyPercent, false)
	observe(1, quietBytes, idlePercent, true)
	observe(100, 0, idlePercent, false)
	observe(1, quietBytes+1, busyPercent, true)
	observe(1, 1<<30, busyPercent, false)
	observe(quietIntervals, 0, idlePercent, true)
}
