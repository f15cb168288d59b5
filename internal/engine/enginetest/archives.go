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
	"bytes"
	"errors"
	"io"
	"path"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func archiveChecks() checks {
	return checks{
		// Upload before the first start: owner, mode and symbolic links are kept; missing directories
		// are made.
		"before first start": uploadsBeforeStart,
		// Upload later: replaces files, adds to directories.
		"after start": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			c.upload(t, c.named("a"), tarFile{name: "data/seed", mode: 0o640, content: []byte("replaced")},
				tarFile{name: "data/more", mode: 0o600, content: []byte("added")})
			for path, want := range map[string]string{"/data/seed": "replaced", "/data/more": "added"} {
				c.wantTool(t, "read "+path, c.named("a"), want, "read", path)
			}
		},
		// An archive may be large.
		"large": func(t *testing.T, c *fixture) {
			c.create(t, c.spec("a"))
			content := bytes.Repeat([]byte("0123456789abcdef"), 1<<19)
			c.upload(t, c.named("a"), tarFile{name: "large", mode: 0o644, content: content})
			if got := c.download(t, c.named("a"), "/large")["large"].content; !bytes.Equal(got, content) {
				t.Errorf("downloaded %d bytes, want the %d that were uploaded", len(got), len(content))
			}
		},
		// Container absent: ErrNotFound; an error of the caller's archive is its own.
		"upload errors": reportsUploadErrors,
		// Download of a file or directory, entries relative to the parent of path; running, stopped or
		// never started.
		"download": downloads,
		// Download from below a volume of a container that runs or ran.
		"download from a volume": downloadsFromVolume,
		// Path absent: ErrNotFound.
		"download errors": func(t *testing.T, c *fixture) {
			c.create(t, c.spec("a"))
			for path, want := range map[string]error{
				"/data/absent": engine.ErrNotFound, "/absent/directory/file": engine.ErrNotFound, "data/seed": engine.ErrInvalid,
			} {
				wantKind(t, path, failure(c.Download(t.Context(), c.named("a"), path)), want)
			}
		},
	}
}

func uploadsBeforeStart(t *testing.T, c *fixture) {
	c.create(t, c.spec("a"))
	c.upload(t, c.named("a"),
		tarFile{name: "opt/config/", mode: 0o750, uid: 12, gid: 34},
		tarFile{name: "opt/config/secret", mode: 0o600, uid: 1234, gid: 5678, content: []byte("secret")},
		tarFile{name: "opt/config/current", link: "secret", uid: 7, gid: 8},
		tarFile{name: "made/on/the/way/script", mode: 0o755, content: []byte("script")},
		// The image has a link to /data.
		tarFile{name: "link/linked", mode: 0o644, content: []byte("content")},
	)
	if got := c.download(t, c.named("a"), "/opt/config/secret")["secret"]; string(got.content) != "secret" || got.mode != 0o600 {
		t.Errorf("downloaded before start: %q of mode %o, want what was uploaded", got.content, got.mode)
	}
	c.start(t, c.named("a"))
	for path, want := range map[string]string{
		"/opt/config":             "directory 12:34 0750",
		"/opt/config/secret":      "file 1234:5678 0600",
		"/opt/config/current":     "link 7:8 secret",
		"/made/on/the":            "directory 0:0 0755",
		"/made/on/the/way/script": "file 0:0 0755",
	} {
		c.wantTool(t, "stat "+path, c.named("a"), want, "stat", path)
	}
	c.wantTool(t, "read through the link", c.named("a"), "secret", "read", "/opt/config/current")
	c.wantTool(t, "a file below a link of the image", c.named("a"), "content", "read", "/data/linked")
	c.wantTool(t, "a file of the image after the upload", c.named("a"), seedContent, "read", seedFile)
}

func reportsUploadErrors(t *testing.T, c *fixture) {
	archive := makeTar(t, tarFile{name: "a", mode: 0o644, content: bytes.Repeat([]byte("x"), 1<<20)})
	wantKind(t, "absent container", c.Upload(t.Context(), c.named("absent"), bytes.NewReader(archive)), engine.ErrNotFound)

	c.create(t, c.spec("a"))
	own := errors.New("the caller's disk is gone")
	err := c.Upload(t.Context(), c.named("a"), io.MultiReader(bytes.NewReader(archive[:1<<19]), iotest.ErrReader(own)))
	wantKind(t, "reader that fails", err, own)
	if errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("reader that fails: %v, want no kind of the engine's", err)
	}
}

func downloads(t *testing.T, c *fixture) {
	for _, state := range []string{"created", "running", "stopped"} {
		name := c.named(state)
		c.create(t, c.spec(state))
		c.upload(t, name, tarFile{name: "opt/dir/one", mode: 0o640, uid: 3, gid: 4, content: []byte("1")},
			tarFile{name: "opt/dir/sub/two", mode: 0o644, content: []byte("2")},
			tarFile{name: "opt/dir/to-one", link: "one"})
		if state != "created" {
			c.start(t, name)
		}
		if state == "stopped" {
			c.stop(t, name)
		}
		one := c.download(t, name, "/opt/dir/one")
		want := map[string]tarFile{"one": {name: "one", mode: 0o640, content: []byte("1")}}
		if diff := cmp.Diff(want, one, cmp.AllowUnexported(tarFile{}), cmpopts.IgnoreFields(tarFile{}, "uid", "gid")); diff != "" {
			t.Errorf("%s: file (-want +got):\n%s", state, diff)
		}
		all := c.download(t, name, "/opt/dir")
		if string(all["dir/one"].content) != "1" || string(all["dir/sub/two"].content) != "2" || all["dir/to-one"].link != "one" {
			t.Errorf("%s: directory: %+v, want what was uploaded", state, all)
		}
	}
}

func downloadsFromVolume(t *testing.T, c *fixture) {
	spec := c.spec("a")
	spec.Mounts = []engine.Mount{{Type: engine.MountVolume, Target: "/data"}}
	wantContent := func(what, file, want string) {
		if got := string(c.download(t, spec.Name, file)[path.Base(file)].content); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	c.run(t, spec)
	wantContent("a new volume", seedFile, seedContent)
	c.tool(t, spec.Name, "write", "/data/record", "done")
	wantContent("running", "/data/record", "done")
	c.stop(t, spec.Name)
	wantContent("stopped", "/data/record", "done")
	wantKind(t, "absent below the volume", failure(c.Download(t.Context(), spec.Name, "/data/absent")), engine.ErrNotFound)
}
