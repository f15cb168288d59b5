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
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func archiveChecks() map[string]check {
	return map[string]check{
		"before first start": {
			contract: "Upload before the first start: owner, mode and symbolic links are kept; missing directories are made",
			run:      uploadsBeforeStart,
		},
		"after start": {
			contract: "Upload later: replaces files, adds to directories",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				c.upload(t, c.named("a"), tarFile{name: "data/seed", mode: 0o640, content: []byte("replaced")},
					tarFile{name: "data/more", mode: 0o600, content: []byte("added")})
				for path, want := range map[string]string{"/data/seed": "replaced", "/data/more": "added"} {
					c.wantTool(t, "read "+path, c.named("a"), want, "read", path)
				}
			},
		},
		"through a link": {
			contract: "an entry below a symbolic link to a directory lands in that directory",
			run: func(t *testing.T, c *fixture) {
				c.create(t, c.spec("a"))
				c.upload(t, c.named("a"), tarFile{name: "link/linked", mode: 0o644, content: []byte("content")})
				c.start(t, c.named("a"))
				c.wantTool(t, "a file below the link", c.named("a"), "content", "read", "/data/linked")
			},
		},
		"large": {
			contract: "an archive may be large",
			run: func(t *testing.T, c *fixture) {
				c.create(t, c.spec("a"))
				content := bytes.Repeat([]byte("0123456789abcdef"), 1<<19)
				c.upload(t, c.named("a"), tarFile{name: "large", mode: 0o644, content: content})
				if got := c.download(t, c.named("a"), "/large")["large"].content; !bytes.Equal(got, content) {
					t.Errorf("downloaded %d bytes, want the %d that were uploaded", len(got), len(content))
				}
			},
		},
		"upload errors": {
			contract: "Container absent: ErrNotFound; an error of the caller's archive is its own",
			run:      reportsUploadErrors,
		},
		"download": {
			contract: "Download of a file or directory, entries relative to the parent of path; running, stopped or never started",
			run:      downloads,
		},
		"download from a volume": {
			contract: "Download from below a volume of a container that runs or ran",
			run:      downloadsFromVolume,
		},
		"download errors": {
			contract: "Container or path absent: ErrNotFound",
			run: func(t *testing.T, c *fixture) {
				c.create(t, c.spec("a"))
				_, err := c.Download(t.Context(), c.named("a"), "/data/absent")
				wantKind(t, "absent file", err, engine.ErrNotFound)
				_, err = c.Download(t.Context(), c.named("a"), "/absent/directory/file")
				wantKind(t, "absent directory", err, engine.ErrNotFound)
				_, err = c.Download(t.Context(), c.named("absent"), "/data/seed")
				wantKind(t, "absent container", err, engine.ErrNotFound)
				_, err = c.Download(t.Context(), c.named("a"), "data/seed")
				wantKind(t, "relative path", err, engine.ErrInvalid)
			},
		},
		"below mounts": {
			contract: "what lies below a mount has no defined place; what this engine does is recorded",
			run:      recordsBelowMounts,
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
	c.wantTool(t, "a file of the image after the upload", c.named("a"), seedContent, "read", seedFile)
}

func reportsUploadErrors(t *testing.T, c *fixture) {
	archive := makeTar(t, tarFile{name: "a", mode: 0o644, content: bytes.Repeat([]byte("x"), 1<<20)})
	err := c.Upload(t.Context(), c.named("absent"), bytes.NewReader(archive))
	wantKind(t, "absent container", err, engine.ErrNotFound)

	c.create(t, c.spec("a"))
	own := errors.New("the caller's disk is gone")
	err = c.Upload(t.Context(), c.named("a"), &failingReader{reader: bytes.NewReader(archive[:1<<19]), err: own})
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
		for path, content := range map[string]string{"dir/one": "1", "dir/sub/two": "2"} {
			if got := string(all[path].content); got != content {
				t.Errorf("%s: directory: %s is %q, want %q; entries %v", state, path, got, content, len(all))
			}
		}
		if got := all["dir/to-one"].link; got != "one" {
			t.Errorf("%s: link to %q, want %q", state, got, "one")
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
	_, err := c.Download(t.Context(), spec.Name, "/data/absent")
	wantKind(t, "absent below the volume", err, engine.ErrNotFound)
}

func recordsBelowMounts(t *testing.T, c *fixture) {
	spec := c.spec("a")
	spec.Mounts = []engine.Mount{
		{Type: engine.MountVolume, Target: "/volume"},
		{Type: engine.MountTmpfs, Target: "/tmpfs"},
		{Type: engine.MountBind, Source: c.HostDirectory(t, "present", "here"), Target: "/bind"},
	}
	c.create(t, spec)
	record := func(when string) {
		for _, mount := range spec.Mounts {
			err := c.Upload(t.Context(), spec.Name, bytes.NewReader(makeTar(t,
				tarFile{name: mount.Target[1:] + "/" + when, mode: 0o644, content: []byte(when)})))
			t.Logf("upload below a %s, %s: error %v", mount.Type, when, err)
		}
	}
	record("before")
	c.start(t, spec.Name)
	record("after")
	for _, mount := range spec.Mounts {
		for _, when := range []string{"before", "after"} {
			path := mount.Target + "/" + when
			output, err := c.Exec(t.Context(), spec.Name, engine.Command{Args: []string{"/tool", "read", path}})
			t.Logf("seen by a process at %s: %v (%q)", path, err == nil, output.Stdout)
			stream, err := c.Download(t.Context(), spec.Name, path)
			t.Logf("downloaded from %s: %v", path, err == nil)
			if err == nil {
				stream.Close()
			}
		}
	}
	stream, err := c.Download(t.Context(), spec.Name, "/link")
	if err != nil {
		t.Logf("download of a symbolic link: %v", err)
		return
	}
	for _, file := range untar(t, stream) {
		t.Logf("download of a symbolic link: entry %q, link to %q", file.name, file.link)
	}
}
