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

package recipes

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// kindModule carries the files of kind's own node image. They are read from
// Go's module cache at build time: what works here works on the stock image.
const kindModule = "sigs.k8s.io/kind"

// importsLine lets files in conf.d add to containerd's configuration.
const importsLine = `imports = ["/etc/containerd/conf.d/*.toml"]`

// kindFile gives a mode to the files of kind's images/base/files whose paths
// match the pattern.
type kindFile struct {
	pattern string
	mode    os.FileMode
}

// kindFiles are the modes that kind's Dockerfile gives: the module's archive
// does not keep them. The first match wins.
func kindFiles() []kindFile {
	return []kindFile{
		{"usr/local/bin/*", 0o755},
		{"kind/bin/*", 0o755},
		{"kind/*", 0o644},
		{"LICENSES/*", 0o644},
		{"etc/*", 0o644},
		{"etc/*/*", 0o644},
		{"etc/systemd/system/*", 0o644},
		{"etc/systemd/system/*/*", 0o644},
	}
}

// addKindFiles copies kind's files into the tree.
func addKindFiles(kindBase string, t *build.Tree) error {
	files := filepath.Join(kindBase, "files")
	return filepath.WalkDir(files, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(files, path)
		if err != nil {
			return err
		}
		if slices.Contains(omittedFiles(), relative) {
			return nil
		}
		mode, err := kindFileMode(relative)
		if err != nil {
			return err
		}
		t.Copy(path, relative, mode)
		return t.Err
	})
}

func kindFileMode(relative string) (os.FileMode, error) {
	for _, rule := range kindFiles() {
		matched, err := filepath.Match(rule.pattern, relative)
		if err != nil {
			return 0, fmt.Errorf("match %s: %w", rule.pattern, err)
		}
		if matched {
			return rule.mode, nil
		}
	}
	return 0, fmt.Errorf("kind has a new file %s: give it a mode in kindFiles", relative)
}

// adaptSystemd does to a root file system what kind's Dockerfile does: of
// Debian's units only what a node needs is started.
func adaptSystemd(t *build.Tree) error {
	for _, pattern := range []string{
		"lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
		"lib/systemd/system/multi-user.target.wants/*",
		"etc/systemd/system/*.wants/*",
		"lib/systemd/system/local-fs.target.wants/*",
		"lib/systemd/system/sockets.target.wants/*udev*",
		"lib/systemd/system/sockets.target.wants/*initctl*",
		"lib/systemd/system/basic.target.wants/*",
	} {
		matches, err := filepath.Glob(filepath.Join(t.Directory, "usr", pattern))
		if strings.HasPrefix(pattern, "etc/") {
			matches, err = filepath.Glob(filepath.Join(t.Directory, pattern))
		}
		if err != nil {
			return fmt.Errorf("list units: %w", err)
		}
		for _, match := range matches {
			if err := os.Remove(match); err != nil {
				return fmt.Errorf("disable unit: %w", err)
			}
		}
	}
	journald := "etc/systemd/journald.conf"
	text, err := os.ReadFile(filepath.Join(t.Directory, journald))
	if err != nil {
		return fmt.Errorf("read journald's configuration: %w", err)
	}
	t.Write(journald, string(text)+"ReadKMsg=no\n", 0o644)
	t.Link("/usr/lib/systemd/systemd", "usr/sbin/init")
	// It registers formats with the kernel, which all nodes share.
	t.Link("/dev/null", "etc/systemd/system/systemd-binfmt.service")
	return t.Err
}

// enableUnits does what "systemctl enable" does for kind's units.
func enableUnits(t *build.Tree) {
	for _, unit := range []string{"kubelet.service", "containerd.service", "undo-mount-hacks.service"} {
		t.Link("/etc/systemd/system/"+unit, "etc/systemd/system/multi-user.target.wants/"+unit)
	}
}

// runtimeSpec is the base of every container's specification: containerd's own
// with kind's hook, and without limits, which are the node's.
func runtimeSpec(generated string) (string, error) {
	var spec map[string]any
	if err := json.Unmarshal([]byte(generated), &spec); err != nil {
		return "", fmt.Errorf("read containerd's default specification: %w", err)
	}
	process, ok := spec["process"].(map[string]any)
	if !ok {
		return "", fmt.Errorf("containerd's default specification has no process")
	}
	delete(process, "rlimits")
	spec["hooks"] = map[string]any{
		"createContainer": []any{map[string]any{"path": "/kind/bin/mount-product-files.sh"}},
	}
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the base specification: %w", err)
	}
	return string(text) + "\n", nil
}

// addImports puts the imports line behind the version, before the first table
// and where kind's own edits of the file do not reach.
func addImports(config string) (string, error) {
	lines := strings.SplitAfter(config, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "version") {
			lines[i] = line + importsLine + "\n"
			return strings.Join(lines, ""), nil
		}
	}
	return "", fmt.Errorf("containerd's configuration has no version line")
}

// sandboxImage is the pause image that kind's configuration names; kind reads
// it from there too.
func sandboxImage(config string) (string, error) {
	match := regexp.MustCompile(`sandbox_image\s*=\s*"([^"]+)"`).FindStringSubmatch(config)
	if match == nil {
		return "", fmt.Errorf("containerd's configuration names no sandbox image")
	}
	return match[1], nil
}

// kindBase is the directory of kind's node image in Go's module cache.
func kindBase(ctx context.Context, b *build.Builder) (string, error) {
	module, err := b.ModuleDir(ctx, "builder", kindModule)
	if err != nil {
		return "", err
	}
	return filepath.Join(module, "images", "base"), nil
}
