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

// Package must ends a test where a step that it needs fails.
package must

import (
	"os"
	"path/filepath"
	"testing"
)

// WriteFile writes a file and the directories that it needs, and returns its path.
func WriteFile(t *testing.T, path, text string) string {
	t.Helper()
	Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
	Succeed(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// Succeed fails the test if there is an error.
func Succeed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns a value, and fails the test if there is an error in its place.
func Value[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		Succeed(t, err)
		return value
	}
}
