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

package script

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestArchiveInvalid(t *testing.T) {
	t.Parallel()
	cases := map[string]Input{
		"flag with a blank":  {KubeletFlags: []string{"--a=b c"}},
		"flag with a quote":  {KubeletFlags: []string{`--a="b"`}},
		"no flag":            {KubeletFlags: []string{"a"}},
		"line break in path": {Config: userdata.Config{Files: []userdata.File{{Path: "/a\nb"}}}},
		"line break in user": {Config: userdata.Config{Users: []userdata.User{{Name: "a", PasswordHash: "x\nroot:y"}}}},
		"line break in ID":   {Instance: userdata.Instance{ID: "a\nb"}},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Archive(in); err == nil {
				t.Error("what would break out of its line must be refused")
			}
		})
	}
}

// What containerd merges into its configuration is there when it starts, and its configuration imports it.
func TestArchiveHasContainerdConfiguration(t *testing.T) {
	t.Parallel()
	file := func(path string) userdata.File { return userdata.File{Path: path, Content: []byte(path)} }
	appended, kept := file("/etc/containerd/conf.d/b.toml"), file("/etc/containerd/conf.d/c.toml")
	appended.Append, kept.Overwrite = true, userdata.SwitchOff
	archive := must.Get(Archive(Input{Config: userdata.Config{Files: []userdata.File{
		file("/etc/containerd/conf.d/a.toml"), appended, kept, file("/etc/containerd/config.toml"),
		file("/etc/containerd/conf.d/d/d.toml"), file("/etc/containerd/conf.d/README"),
	}}}))(t)
	got := map[string]string{}
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Succeed(t, err)
		if strings.Contains(header.Name, "containerd") {
			got[header.Name] = string(must.Get(io.ReadAll(reader))(t))
		}
	}
	want := map[string]string{
		"etc/systemd/system/containerd.service.d/": "", containerdDropInName: containerdDropIn,
		"etc/containerd/conf.d/": "", "etc/containerd/conf.d/a.toml": "/etc/containerd/conf.d/a.toml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestContainerdImports(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ before, want string }{
		"image of kind": {"# a\nversion = 2\n[a]\n", "imports = [\"/etc/containerd/conf.d/*.toml\"]\n# a\nversion = 2\n[a]\n"},
		"image of ours": {"version = 2\nimports = [\"x\"]\n", "version = 2\nimports = [\"x\"]\n"},
	}
	_, command, found := strings.Cut(containerdDropIn, "ExecStartPre=/bin/sh -c \"")
	if !found {
		t.Fatal("the drop-in has no command")
	}
	// As systemd reads the quotes.
	command = strings.ReplaceAll(strings.TrimSuffix(command, "\"\n"), `\"`, `"`)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := filepath.Join(t.TempDir(), "config.toml")
			must.Succeed(t, os.WriteFile(config, []byte(tc.before), 0o600))
			for range 2 { // at each start
				output, err := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "/etc/containerd/config.toml", config)).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, output)
				}
			}
			if diff := cmp.Diff(tc.want, string(must.Get(os.ReadFile(config))(t))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
