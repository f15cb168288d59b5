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

package debian

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// packagesDate is when the Debian packages are fetched: those of a later day are fetched
// after it is changed. A release has a recent one.
const packagesDate = "2026-11-28"

const (
	securitySuite = Suite + "-security"
	// securityMirror is Debian's own, where apt on this machine has none.
	securityMirror = "http://deb.debian.org/debian-security"
	debianKeyring  = "/usr/share/keyrings/debian-archive-keyring.gpg"
	// securityDirectory of the fetched packages has those that replace others.
	securityDirectory = "security"
)

// fetchSecurity fetches the packages of the security suite that are newer than those in a
// directory, which debootstrap has fetched from the release alone.
func fetchSecurity(ctx context.Context, w *build.Workspace) error {
	apt, newer, err := newerPackages(ctx, w)
	if err != nil {
		return err
	}
	w.Say("fetching %d packages of %s", len(newer), securitySuite)
	if len(newer) == 0 {
		return nil
	}
	download := apt(append([]string{"download"}, newer...)...)
	download.Dir = filepath.Join(w.Dir, securityDirectory)
	if err := os.Mkdir(download.Dir, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	return download.Run(ctx)
}

// aptDirectory of the lists of the security suite.
func aptDirectory(w *build.Workspace) string { return filepath.Join(w.Scratch, "apt") }

// isolatedApt runs apt-get with the security suite alone, and nothing of this machine.
func isolatedApt(w *build.Workspace, mirror string) (func(...string) build.Command, error) {
	directory := aptDirectory(w)
	for _, name := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(directory, name), 0o755); err != nil {
			return nil, fmt.Errorf("create directory: %w", err)
		}
	}
	source := fmt.Sprintf("deb [signed-by=%s] %s %s main\n", debianKeyring, mirror, securitySuite)
	for name, text := range map[string]string{"sources.list": source, "status": ""} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("configure apt: %w", err)
		}
	}
	var options []string
	for key, value := range map[string]string{
		"APT::Architecture": string(w.Platform), "APT::Architectures": string(w.Platform), "APT::Sandbox::User": "root",
		"Acquire::Languages": "none", "Acquire::GzipIndexes": "false",
		"Dir::Etc::SourceList": filepath.Join(directory, "sources.list"), "Dir::Etc::SourceParts": "-",
		"Dir::Etc::Preferences": "-", "Dir::Etc::PreferencesParts": "-",
		"Dir::State::Lists": filepath.Join(directory, "lists"), "Dir::State::Status": filepath.Join(directory, "status"),
		"Dir::Cache": filepath.Join(directory, "cache"),
	} {
		options = append(options, "--option="+key+"="+value)
	}
	slices.Sort(options)
	return func(args ...string) build.Command { return build.AptGet(append(slices.Clone(options), args...)...) }, nil
}

// newerPackages of the security suite, as name=version, which replace those in w.Dir, and
// what downloads them.
func newerPackages(ctx context.Context, w *build.Workspace) (apt func(...string) build.Command, newer []string, err error) {
	mirror, err := FindMirror(os.DirFS(SourcesDirectory), securitySuite)
	if err != nil {
		return nil, nil, err
	}
	if apt, err = isolatedApt(w, cmp.Or(mirror, securityMirror)); err != nil {
		return nil, nil, err
	}
	if err := apt("update").Run(ctx); err != nil {
		return nil, nil, err
	}
	fetched, err := fetchedPackages(w.Dir)
	if err != nil {
		return nil, nil, err
	}
	lists, err := filepath.Glob(filepath.Join(aptDirectory(w), "lists", "*_Packages"))
	if err != nil || len(lists) != 1 {
		return nil, nil, errors.Join(fmt.Errorf("find the list of %s: there are %d", securitySuite, len(lists)), err)
	}
	text, err := os.ReadFile(lists[0])
	if err != nil {
		return nil, nil, fmt.Errorf("read the list of %s: %w", securitySuite, err)
	}
	return apt, replacements(fetched, string(text), func(a, b string) bool {
		return build.Command{Args: []string{"dpkg", "--compare-versions", a, "gt", b}}.Run(ctx) == nil
	}), nil
}

// fetchedPackages are the versions of the packages in a directory.
func fetchedPackages(directory string) (map[string]string, error) {
	files, err := debFiles(directory)
	if err != nil {
		return nil, err
	}
	fetched := map[string]string{}
	for _, file := range files {
		line, err := packageOfFile(file)
		if err != nil {
			return nil, err
		}
		fields := strings.Fields(line)
		fetched[fields[0]] = fields[1]
	}
	return fetched, nil
}

// CheckPackages fails if Debian has fixed a package since the images' were fetched.
func CheckPackages(ctx context.Context, b *build.Builder, debs *build.Artifact) error {
	fetched, err := b.Resolve(ctx, debs)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "packages-")
	if err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // below the temporary directory
	_, newer, err := newerPackages(ctx, &build.Workspace{Builder: b, Name: "debs", Dir: fetched, Scratch: scratch})
	if err != nil {
		return err
	}
	if len(newer) > 0 {
		return fmt.Errorf("%s has newer packages than the images; set packagesDate in lab/images/builder/debian/security.go to the present day: %s",
			securitySuite, strings.Join(newer, " "))
	}
	b.Say("debs", "%s has no newer packages", securitySuite)
	return nil
}

// replacements of fetched packages, by name and version, that a list of packages has; of
// several versions the newest.
func replacements(fetched map[string]string, list string, newer func(a, b string) bool) []string {
	newest := map[string]string{}
	for stanza := range strings.SplitSeq(list, "\n\n") {
		fields := controlFields(stanza)
		name, version := fields["package"], fields["version"]
		present, isFetched := fetched[name]
		if found := newest[name]; found != "" {
			present = found
		}
		if isFetched && newer(version, present) {
			newest[name] = version
		}
	}
	var names []string
	for name, version := range newest {
		names = append(names, name+"="+version)
	}
	slices.Sort(names)
	return names
}

// debFiles are the files of all packages in a directory, without those that others replace.
func debFiles(directory string) ([]string, error) {
	files := map[string]string{}
	for _, pattern := range []string{"*.deb", filepath.Join(securityDirectory, "*.deb")} {
		matches, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil {
			return nil, fmt.Errorf("list packages: %w", err)
		}
		for _, match := range matches {
			name, _, _ := strings.Cut(filepath.Base(match), "_")
			files[name] = match
		}
	}
	var all []string
	for _, file := range files {
		all = append(all, file)
	}
	slices.Sort(all)
	return all, nil
}

// debFile of one package.
func debFile(directory, name string) (string, error) {
	files, err := debFiles(directory)
	at := slices.IndexFunc(files, func(file string) bool { return strings.HasPrefix(filepath.Base(file), name+"_") })
	if err == nil && at < 0 {
		err = fmt.Errorf("package %s was not fetched", name)
	}
	if err != nil {
		return "", err
	}
	return files[at], nil
}

// InstallSecurity replaces the installed packages of a root file system by those of the
// security suite that were fetched.
func InstallSecurity(ctx context.Context, w *build.Workspace, debs *build.Artifact, root string) error {
	newer, err := filepath.Glob(w.Of(debs, securityDirectory, "*.deb"))
	if err != nil || len(newer) == 0 {
		return err
	}
	const directory = "/var/cache/apt/security"
	into := filepath.Join(root, directory)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	install := []string{
		"chroot", root, "apt-get", "install", "--yes", "--only-upgrade", "--no-install-recommends",
		"--option=Dpkg::Options::=--force-confold", "--option=APT::Sandbox::User=root",
	}
	status, err := os.ReadFile(filepath.Join(root, "var", "lib", "dpkg", "status"))
	if err != nil {
		return fmt.Errorf("list installed packages: %w", err)
	}
	installed := map[string]bool{}
	for stanza := range strings.SplitSeq(string(status), "\n\n") {
		installed[controlFields(stanza)["package"]] = true
	}
	for _, file := range newer {
		if name, _, _ := strings.Cut(filepath.Base(file), "_"); !installed[name] {
			continue
		}
		if err := (build.Command{Args: []string{"cp", "--reflink=auto", file, into}}).Run(ctx); err != nil {
			return err
		}
		install = append(install, filepath.Join(directory, filepath.Base(file)))
	}
	w.Say("installing packages of %s", securitySuite)
	return build.Command{Args: install, Env: []string{"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}}.Run(ctx)
}
