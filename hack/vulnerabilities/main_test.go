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
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/hack/imagefiles"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// recorded is a database with one vulnerability of a module that the program of this test
// has, in all versions, and one of a module that it does not have.
func recorded(t *testing.T) string {
	t.Helper()
	return "file://" + must.Get(filepath.Abs("testdata"))(t)
}

func TestFindings(t *testing.T) {
	t.Parallel()
	program := must.Get(os.ReadFile(must.Get(os.Executable())(t)))(t)
	for name, tc := range map[string]struct {
		reason  string
		program []byte
		// want is in the output; empty = the scan succeeds.
		want string
	}{
		"Vulnerable": {"A finding fails the workflow.", program, "GO-2026-9001"},
		"Clean":      {"A script has no modules.", []byte("#!/bin/sh\n"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := filepath.Join(t.TempDir(), "app.tar")
			writeImage(t, archive, tc.program)
			var out strings.Builder
			err := scanner{database: recorded(t), out: &out}.run(t.Context(), []string{archive})
			if (err != nil) != (tc.want != "") || !strings.Contains(out.String(), tc.want) {
				t.Errorf("%s Got %v, want %q in:\n%s", tc.reason, err, tc.want, &out)
			}
			if strings.Contains(out.String(), "GO-2026-9002") {
				t.Errorf("a vulnerability of another module is reported:\n%s", &out)
			}
		})
	}
	// A scan that could not be made is no success.
	archive := filepath.Join(t.TempDir(), "app.tar")
	writeImage(t, archive, program)
	if err := (scanner{database: "file:///absent", out: io.Discard}).run(t.Context(), []string{archive}); err == nil {
		t.Error("without a database: success, want an error")
	}
}

func writeImage(t *testing.T, path string, program []byte) {
	t.Helper()
	layer := must.Get(imagefiles.Layer(time.Time{}, imagefiles.File{Path: "app", Mode: 0o755, Text: program}))(t)
	image := must.Get(mutate.AppendLayers(empty.Image, layer))(t)
	must.Succeed(t, tarball.WriteToFile(path, must.Get(name.NewTag("localhost/app:v1"))(t), image))
}
