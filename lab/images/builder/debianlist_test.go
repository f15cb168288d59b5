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

import "testing"

func TestPackageOfFile(t *testing.T) {
	t.Parallel()
	got, err := packageOfFile("/debs/libc6_1%3a2.36-9+deb12u1_amd64.deb")
	if want := "libc6 1:2.36-9+deb12u1 amd64"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := packageOfFile("/debs/surprise.deb"); err == nil {
		t.Error("another file: success, want an error")
	}
}
