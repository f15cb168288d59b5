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

package capcontest

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// WebtoolImage is the one of examples/web.yaml: a stand-in for an application.
const WebtoolImage = "docker.io/library/web:v1"

// webtoolArchive builds the workload's image as a docker-archive.
func webtoolArchive(t *testing.T) []byte {
	t.Helper()
	tag := must.Get(name.NewTag(WebtoolImage))(t)
	var archive bytes.Buffer
	must.Succeed(t, tarball.Write(tag, BuiltWebtool(t), &archive))
	return archive.Bytes()
}

// BuiltWebtool is the image of the workload's program.
func BuiltWebtool(t *testing.T) v1.Image {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "webtool")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "github.com/capi-samples/cluster-api-provider-container/e2e/capcon/webtool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build webtool: %v\n%s", err, output)
	}
	content, err := os.ReadFile(binary)
	must.Succeed(t, err)
	layer := programLayer(t, "webtool", content)
	image := must.Get(mutate.AppendLayers(empty.Image, layer))(t)
	config := must.Get(image.ConfigFile())(t)
	config.Architecture, config.OS = "amd64", "linux"
	config.Config.Entrypoint = []string{"/webtool"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

// programLayer is a layer of one file that may be executed.
func programLayer(t *testing.T, name string, content []byte) v1.Layer {
	t.Helper()
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	must.Succeed(t, writer.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}))
	must.Get(writer.Write(content))(t)
	must.Succeed(t, writer.Close())
	layer := must.Get(tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}))(t)
	return layer
}
