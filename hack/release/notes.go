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
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// writeNotes writes the section of the changelog, and what is known about the files.
func (r release) writeNotes(changelog string) error {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	changes, err := section(string(text), r.version)
	if err != nil {
		return fmt.Errorf("read %s: %w", changelog, err)
	}
	images, err := filepath.Glob(filepath.Join(r.directory, "*"+archiveExtension))
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	notes := fmt.Sprintf("# %s\n\nBuilt from commit %s.\n\n%s\n\n%s", r.version, r.commit, absolute(changes, r.version), files(r.platforms, images))
	if err := os.WriteFile(filepath.Join(r.directory, "release-notes.md"), []byte(notes), 0o644); err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	return nil
}

// section of a changelog about a version. A release candidate has none of its own: it has
// what is not released.
func section(changelog, version string) (string, error) {
	for _, title := range []string{version, strings.TrimPrefix(version, "v"), "Unreleased"} {
		_, after, found := strings.Cut(changelog, "\n## ["+title+"]")
		if !found {
			continue
		}
		_, after, _ = strings.Cut(after, "\n")
		after, _, _ = strings.Cut(after, "\n## ")
		if end := addresses.FindStringIndex(after); end != nil {
			after = after[:end[0]]
		}
		return strings.TrimSpace(after), nil
	}
	return "", fmt.Errorf("there is no section about %s", version)
}

// addresses of links are at the end of a changelog.
var addresses = regexp.MustCompile(`(?m)^\[[^\]]+\]: `)

// link to a file of the repository, from its root.
var link = regexp.MustCompile(`\]\(([A-Za-z0-9_.-]+[/)#])`)

// absolute makes links to files of the repository lead to the release's.
func absolute(text, version string) string {
	return link.ReplaceAllString(text, "](https://"+module+"/blob/"+version+"/$1")
}

// files says what was built for which platform, and what of it the tests run.
func files(programs, images []string) string {
	var text strings.Builder
	text.WriteString("## Files\n\n| File | Platform | Run by tests |\n|---|---|---|\n")
	row := func(name, platform string) {
		run := "no, only compiled"
		if platform == testedPlatform {
			run = "yes"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", name, platform, run)
	}
	for _, platform := range programs {
		row(programName(platform), platform)
	}
	for _, image := range images {
		name := filepath.Base(image)
		parts := strings.Split(strings.TrimSuffix(name, archiveExtension), "-")
		row(name, strings.Join(parts[len(parts)-2:], "/"))
	}
	text.WriteString("\nThe tests are `make test`, `make e2e RUN=cluster-api` and `make e2e RUN=release`; docs/results.md has their results. " +
		"Images are OCI layouts in tar archives, which `capcon images load`, `docker load` and `podman load` read. " +
		"Each program and image has an SBOM (CycloneDX), `third-party-licenses.txt` has the licenses of all Go modules in them, and `checksums.txt` has the SHA-256 of all files.\n")
	return text.String()
}

// testedPlatform is that of the machines that tests run on.
const testedPlatform = "linux/amd64"
