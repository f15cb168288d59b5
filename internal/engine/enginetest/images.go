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

package enginetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// imageName has the prefix that Podman gives to what is loaded, so that
	// the name is the same everywhere.
	imageName  = "localhost/capcon/enginetest:v1"
	imageLabel = "enginetest"

	// seedFile is in the image, below the path that cases mount volumes at.
	seedFile    = "/data/seed"
	seedContent = "from the image"
)

// BuildImage builds the suite's image for the engine's architecture. Its first program
// runs until it is terminated.
func BuildImage(t *testing.T, architecture string) v1.Image {
	t.Helper()
	program := buildTool(t, architecture)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(imageFiles(t, program))), nil
	})
	succeed(t, "make layer", err)
	img, err := mutate.AppendLayers(empty.Image, layer)
	succeed(t, "append layer", err)
	config, err := img.ConfigFile()
	succeed(t, "read image configuration", err)
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{
		OS: "linux", Architecture: architecture,
		Config: v1.Config{Entrypoint: []string{"/tool", "init"}, Labels: map[string]string{imageLabel: "yes"}},
		RootFS: config.RootFS, History: config.History,
	})
	succeed(t, "configure image", err)
	return img
}

// toolPackage is the program of the test image.
const toolPackage = "github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest/tool"

// buildTool compiles the program. Go's own cache makes the second time cheap. Where Go is
// not installed, ENGINETEST_TOOL is the path of the compiled program.
func buildTool(t *testing.T, architecture string) []byte {
	t.Helper()
	if path := os.Getenv("ENGINETEST_TOOL"); path != "" {
		program, err := os.ReadFile(path)
		succeed(t, "read the test image's program", err)
		return program
	}
	out := filepath.Join(t.TempDir(), "tool")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, toolPackage)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the test image's program: %v\n%s", err, output)
	}
	program, err := os.ReadFile(out)
	succeed(t, "read the test image's program", err)
	return program
}

func imageFiles(t *testing.T, program []byte) []byte {
	t.Helper()
	files := []tarFile{
		{name: "tool", mode: 0o755, content: program},
		{name: "data/", mode: 0o755},
		{name: "data/seed", mode: 0o644, content: []byte(seedContent)},
		{name: "link", link: "data"},
		{name: "tmp/", mode: 0o777},
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0::/:/tool\n")},
	}
	return makeTar(t, files...)
}

// saved is the image as a docker-archive.
func saved(t *testing.T, img v1.Image) []byte {
	t.Helper()
	reference, err := name.NewTag(imageName)
	succeed(t, "name the test image", err)
	var buffer bytes.Buffer
	succeed(t, "save image", tarball.Write(reference, img, &buffer))
	return buffer.Bytes()
}

// tarFile is an entry of a tar: a directory where the name ends in a slash, a
// symbolic link where link is set, else a file.
type tarFile struct {
	name     string
	mode     int64
	uid, gid int
	content  []byte
	link     string
}

func makeTar(t *testing.T, files ...tarFile) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, file := range files {
		header := &tar.Header{
			Name: file.name, Mode: file.mode, Uid: file.uid, Gid: file.gid,
			Typeflag: tar.TypeReg, Size: int64(len(file.content)),
		}
		switch {
		case file.link != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, file.link, 0o777
		case file.name[len(file.name)-1] == '/':
			header.Typeflag = tar.TypeDir
		}
		succeed(t, "write archive", writer.WriteHeader(header))
		_, err := writer.Write(file.content)
		succeed(t, "write archive", err)
	}
	succeed(t, "close archive", writer.Close())
	return buffer.Bytes()
}

// untar reads what a Download returned.
func untar(t *testing.T, stream io.ReadCloser) map[string]tarFile {
	t.Helper()
	defer stream.Close()
	out := map[string]tarFile{}
	reader := tar.NewReader(stream)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		succeed(t, "read downloaded archive", err)
		content, err := io.ReadAll(reader)
		succeed(t, "read downloaded archive", err)
		out[header.Name] = tarFile{
			name: header.Name, mode: header.Mode & 0o7777, uid: header.Uid, gid: header.Gid,
			content: content, link: header.Linkname,
		}
	}
}

func imageChecks() checks {
	return checks{
		// A local image by reference or ID.
		"inspect": func(t *testing.T, c *fixture) {
			found, err := c.InspectImage(t.Context(), imageName)
			succeed(t, "inspect image", err)
			digest, err := c.image.ConfigName()
			succeed(t, "read the image's ID", err)
			config, err := c.image.ConfigFile()
			succeed(t, "read the image's configuration", err)
			// In the image store of containerd, Docker 29's default, it is the digest of the manifest.
			isID := found.ID == digest.String() || slices.ContainsFunc(found.Digests, func(d string) bool { return strings.HasSuffix(d, "@"+found.ID) })
			if !isID || found.SizeBytes == 0 || found.Labels[imageLabel] != "yes" || found.Architecture != config.Architecture {
				t.Errorf("image %+v, want ID %s or its digest, a size, its label and architecture %s", found, digest, config.Architecture)
			}
			byID, err := c.InspectImage(t.Context(), found.ID)
			if err != nil || byID.ID != found.ID {
				t.Errorf("by ID: %q, %v, want the same image", byID.ID, err)
			}
		},
		// A local image as a docker-archive with its name, which gives the same image when it is
		// loaded.
		"save": func(t *testing.T, c *fixture) {
			found, err := c.InspectImage(t.Context(), imageName)
			succeed(t, "inspect image", err)
			stream, err := c.SaveImage(t.Context(), imageName)
			succeed(t, "save image", err)
			archive, err := io.ReadAll(stream)
			succeed(t, "read archive", errors.Join(err, stream.Close()))
			manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
			succeed(t, "read the archive's manifest", err)
			if len(manifest) != 1 || !slices.Equal(manifest[0].RepoTags, []string{imageName}) {
				t.Errorf("the archive has %+v, want one image with the name %s", manifest, imageName)
			}
			succeed(t, "load what was saved", c.LoadImage(t.Context(), bytes.NewReader(archive)))
			again, err := c.InspectImage(t.Context(), imageName)
			if err != nil || again.ID != found.ID {
				t.Errorf("loaded again: %q, %v, want %q", again.ID, err, found.ID)
			}
		},
		// Registry not reachable: ErrUnavailable.
		"registry not reachable": func(t *testing.T, c *fixture) {
			wantKind(t, "pull", c.PullImage(t.Context(), c.UnreachableImage(t), nil, nil), engine.ErrUnavailable)
		},
	}
}
