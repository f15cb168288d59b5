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

// Package debian fetches packages of Debian, with their security updates, and makes layers of them.
package debian

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// Suite is the release that all images are made of. What differs from
// the release of kind's image stands in recipes/differences.go.
const Suite = "bookworm"

// SourcesDirectory is where apt's configuration lies on this machine.
const SourcesDirectory = "/etc/apt"

// FindMirror returns the mirror that this machine takes the suite from, or ""
// for debootstrap's own choice.
func FindMirror(directory fs.FS, suite string) (string, error) {
	readers := []struct {
		pattern string
		read    func(text, suite string) string
	}{
		{"sources.list", mirrorOfLines},
		{"sources.list.d/*.list", mirrorOfLines},
		{"sources.list.d/*.sources", mirrorOfStanzas},
	}
	for _, reader := range readers {
		paths, err := fs.Glob(directory, reader.pattern)
		if err != nil {
			return "", fmt.Errorf("list the configuration of apt: %w", err)
		}
		for _, path := range paths {
			text, err := fs.ReadFile(directory, path)
			if err != nil {
				return "", fmt.Errorf("read the configuration of apt: %w", err)
			}
			if mirror := reader.read(string(text), suite); mirror != "" {
				return mirror, nil
			}
		}
	}
	return "", nil
}

// mirrorOfLines reads the one-line style: deb [options] uri suite components.
func mirrorOfLines(text, suite string) string {
	for line := range strings.Lines(text) {
		if _, after, found := strings.Cut(line, "]"); found && strings.HasPrefix(line, "deb ") {
			line = "deb " + after
		}
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[0] == "deb" && fields[2] == suite && slices.Contains(fields[3:], "main") {
			return fields[1]
		}
	}
	return ""
}

// mirrorOfStanzas reads the deb822 style.
func mirrorOfStanzas(text, suite string) string {
	for stanza := range strings.SplitSeq(text, "\n\n") {
		fields := controlFields(stanza)
		uris := strings.Fields(fields["uris"])
		if slices.Contains(strings.Fields(fields["types"]), "deb") && len(uris) > 0 &&
			slices.Contains(strings.Fields(fields["suites"]), suite) &&
			slices.Contains(strings.Fields(fields["components"]), "main") {
			return uris[0]
		}
	}
	return ""
}

// controlFields parses a stanza of Debian's control format; keys in lower case,
// continued lines joined by spaces.
func controlFields(stanza string) map[string]string {
	fields := map[string]string{}
	var key string
	scanner := bufio.NewScanner(strings.NewReader(stanza))
	scanner.Buffer(nil, 1<<20) // descriptions and lists of files are long
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			fields[key] += " " + strings.TrimSpace(line)
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		key = strings.ToLower(name)
		fields[key] = strings.TrimSpace(value)
	}
	return fields
}

// Debootstrap is its command; directory gets the root file system.
func Debootstrap(p build.Platform, mode, packages []string, directory, mirror string) build.Command {
	args := append([]string{"debootstrap", "--arch=" + string(p), "--variant=minbase", "--include=" + strings.Join(packages, ",")}, mode...)
	args = append(args, Suite, directory)
	if mirror != "" {
		args = append(args, mirror)
	}
	return build.Command{
		Args: args, Env: []string{"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"},
		Hint: "If packages could not be fetched: is the Debian mirror reachable? debootstrap honors http_proxy; " +
			"its own record is debootstrap/debootstrap.log in the directory it names.",
	}
}

// Debs fetches the packages of all images, with all they depend on.
func Debs(packages []string) *build.Artifact {
	return &build.Artifact{
		Name:   "debs",
		Recipe: []string{"debian/debian.go", "debian/security.go"},
		Values: append([]string{packagesDate}, packages...),
		Build: func(ctx context.Context, w *build.Workspace) error {
			if err := w.PrepareHost(ctx); err != nil {
				return err
			}
			mirror, err := FindMirror(os.DirFS(SourcesDirectory), Suite)
			if err != nil {
				return err
			}
			w.Say("fetching %d Debian packages and what they depend on", len(packages))
			root := filepath.Join(w.Scratch, "root")
			if err := Debootstrap(w.Platform, []string{"--download-only"}, packages, root, mirror).Run(ctx); err != nil {
				return err
			}
			debs, err := filepath.Glob(filepath.Join(root, "var", "cache", "apt", "archives", "*.deb"))
			if err != nil {
				return fmt.Errorf("list fetched packages: %w", err)
			}
			for _, deb := range debs {
				if err := os.Rename(deb, filepath.Join(w.Dir, filepath.Base(deb))); err != nil {
					return fmt.Errorf("keep package: %w", err)
				}
			}
			return fetchSecurity(ctx, w)
		},
	}
}
