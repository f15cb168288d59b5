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

// Package integration connects tests to the container engine that ENGINE names.
package integration

import (
	"cmp"
	"os"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
)

// EngineName is docker, podman or, by default, auto.
func EngineName() string { return cmp.Or(os.Getenv("ENGINE"), connect.Auto) }

// Engine returns a connection that ends with the test. It skips the test with
// -short, and fails it where no engine answers or the engine lacks an image.
func Engine(tb testing.TB, images ...string) engine.Engine {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short: no container engine")
	}
	eng, err := connect.Connect(tb.Context(), connect.Options{Engine: EngineName()})
	if err != nil {
		tb.Fatalf("a container engine is needed; \"make engine\" starts one: %v", err)
	}
	tb.Cleanup(func() {
		if err := eng.Close(); err != nil {
			tb.Error(err)
		}
	})
	for _, image := range images {
		if _, err := eng.InspectImage(tb.Context(), image); err != nil {
			tb.Fatalf("inspect image: %v; \"make images-load\" builds and loads it", err)
		}
	}
	return eng
}
