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
	"context"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// trialSuffix ends the version of a trial, which is made from any source.
const trialSuffix = "-dirty"

// source is what a release is made from.
type source struct {
	// changes are files that the commit does not have as they are, as git lists them.
	changes []string
	// tags of the commit.
	tags []string
	// toolchain that builds, and the one that the workflows build and test with.
	toolchain, pinned string
	// committed is when the commit was made, and packages when Debian's packages were fetched.
	committed, packages time.Time
}

// packagesAge is how old the packages of a release may be.
const packagesAge = 14 * 24 * time.Hour

// readSource of the clone in a directory.
func readSource(ctx context.Context, directory string) (source, error) {
	var errs []error
	git := func(args ...string) string {
		output, err := exec.CommandContext(ctx, "git", append([]string{"-C", directory}, args...)...).Output()
		if err != nil {
			errs = append(errs, fmt.Errorf("run git %s: %w", args[0], err))
		}
		return strings.TrimRight(string(output), "\n")
	}
	// match returns what the group of an expression has in a file.
	match := func(path string, expression *regexp.Regexp) string {
		text, err := os.ReadFile(path)
		found := expression.FindSubmatch(text)
		if err == nil && found == nil {
			err = fmt.Errorf("%s does not match %s", path, expression)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read source: %w", err))
			return ""
		}
		return string(found[1])
	}
	lines := func(text string) []string { return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }) }
	s := source{toolchain: runtime.Version(), changes: lines(git("status", "--porcelain")), tags: lines(git("tag", "--points-at", "HEAD"))}
	modules, err := filepath.Glob(filepath.Join(directory, "lab", "images", "*", "go.mod"))
	errs = append(errs, err)
	for _, path := range append(modules, filepath.Join(directory, "go.mod")) {
		if required := "go" + match(path, goDirective); version.Compare(required, s.pinned) > 0 {
			s.pinned = required
		}
	}
	seconds, err := strconv.ParseInt(git("log", "-1", "--format=%ct"), 10, 64)
	s.committed = time.Unix(seconds, 0).UTC()
	errs = append(errs, err)
	s.packages, err = time.Parse(time.DateOnly, match(filepath.Join(directory, packagesFile), packagesConstant))
	return s, errors.Join(append(errs, err)...)
}

// packagesFile has the day for which the image builder fetches Debian's packages.
const packagesFile = "lab/images/builder/debian/security.go"

var packagesConstant = regexp.MustCompile(`(?m)^const packagesDate = "(.*)"$`)

var versionName = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9a-z.-]+)?$`)

var goDirective = regexp.MustCompile(`(?m)^go (\S+)$`)

// checkPlatforms that capcon is built for: those of a release, and of a trial some of them.
func checkPlatforms(version string, builds []string) error {
	for _, platform := range builds {
		if !slices.Contains(platforms(), platform) {
			return fmt.Errorf("capcon is not built for %s; use some of %s", platform, strings.Join(platforms(), " "))
		}
	}
	if len(builds) < len(platforms()) && !strings.HasSuffix(version, trialSuffix) {
		return fmt.Errorf("%s has capcon for all platforms; for a trial, use VERSION=%s%s", version, version, trialSuffix)
	}
	return nil
}

// check that others can make the same files for a version.
func (s source) check(version string) error {
	if !versionName.MatchString(version) {
		return fmt.Errorf("version %q is none of a release; use one such as v0.1.0 or v0.1.0-rc.1", version)
	}
	if strings.HasSuffix(version, trialSuffix) {
		return nil
	}
	var problems []error
	if len(s.changes) > 0 {
		problems = append(problems, fmt.Errorf("the clone has changes; commit or remove them:\n  %s", strings.Join(s.changes, "\n  ")))
	}
	if !slices.Contains(s.tags, version) {
		problems = append(problems, fmt.Errorf("the commit does not have the tag %s; check it out, or create it: git tag --sign %s", version, version))
	}
	if s.toolchain != s.pinned {
		problems = append(problems, fmt.Errorf("%s would build, but the release is tested with %s; install it, or run with GOTOOLCHAIN=%s", s.toolchain, s.pinned, s.pinned))
	}
	if s.committed.Sub(s.packages) > packagesAge {
		problems = append(problems, fmt.Errorf("the Debian packages are those of %s; set packagesDate in %s to the day of the commit", s.packages.Format(time.DateOnly), packagesFile))
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be made from this clone:\n%w\nFor a trial, use VERSION=%s%s", version, errors.Join(problems...), version, trialSuffix)
}
