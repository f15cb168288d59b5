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
	"time"
)

func TestUnderway(t *testing.T) {
	t.Parallel()
	var work underway
	if got := work.describe(time.Now()); got != "" {
		t.Errorf("%q is under way before anything began", got)
	}
	work.begin("first")
	work.begin("ended")
	work.begin("second")
	work.end("ended")
	work.since["first"] = work.since["first"].Add(-time.Minute)
	const want = "first for 65s, second for 5s"
	if got := work.describe(work.since["second"].Add(5 * time.Second)); got != want {
		t.Errorf("under way: %q, want %q", got, want)
	}
}
