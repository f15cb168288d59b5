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
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// licensesName is the file with the licenses of all Go modules.
const licensesName = "third-party-licenses.txt"

// licenseText is a file of a module.
type licenseText struct{ name, text string }

// licenses finds the licenses of Go modules.
type licenses struct {
	// own is the directory of this repository, and toolchain that of Go.
	own, toolchain string
	// moduleDirectory of a version of a module, which is downloaded where it is not there.
	moduleDirectory func(ctx context.Context, path, version string) (string, error)
}

func newLicenses(ctx context.Context) (licenses, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return licenses{}, fmt.Errorf("find Go: %w", err)
	}
	return licenses{own: ".", toolchain: strings.TrimSpace(string(root)), moduleDirectory: download}, nil
}

func download(ctx context.Context, path, version string) (string, error) {
	output, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", path+"@"+version).Output()
	var module struct{ Dir, Error string }
	if parsed := json.Unmarshal(output, &module); err == nil {
		err = parsed
	}
	if module.Error != "" {
		err = errors.New(module.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download module %s@%s: %w", path, version, err)
	}
	return module.Dir, nil
}

// copies of packages of Go whose authors left its license out.
var copiesOfGo = map[string]bool{"github.com/ajeddeloh/go-json": true}

// of a module. One without a license must not be distributed: an error.
func (l licenses) of(ctx context.Context, path, version string) ([]licenseText, error) {
	directory, whole := l.own, false
	switch {
	case path == "std", copiesOfGo[path]:
		directory = l.toolchain
	case isOwn(path):
	default:
		found, err := l.moduleDirectory(ctx, path, version)
		if err != nil {
			return nil, err
		}
		directory, whole = found, true
	}
	texts, err := licenseFiles(directory, whole)
	if err == nil && len(texts) == 0 {
		err = errors.New("it has no license")
	}
	if err != nil {
		return nil, fmt.Errorf("find licenses of module %s %s: %w", path, version, err)
	}
	return texts, nil
}

func isOwn(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// licenseName of a file, such as LICENSE.md, COPYING or NOTICE.txt.
var licenseName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// otherSources are directories of a module that no program is made from.
var otherSources = map[string]bool{"vendor": true, "testdata": true, "LICENSES": true, ".git": true, "docs": true, "examples": true}

// licenseFiles of a directory, and where it is a whole module those below it: code of
// others has its license next to it.
func licenseFiles(directory string, whole bool) ([]licenseText, error) {
	var texts []licenseText
	err := filepath.WalkDir(directory, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(directory, file)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (!whole || otherSources[entry.Name()]):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !licenseName.MatchString(entry.Name()) || isCode(entry.Name()):
			return nil
		}
		text, err := os.ReadFile(file)
		texts = append(texts, licenseText{filepath.ToSlash(name), strings.TrimSpace(string(text))})
		return err
	})
	return texts, err
}

func isCode(name string) bool {
	return slices.Contains([]string{".go", ".sh", ".py", ".yaml", ".yml", ".json", ".tmpl", ".s"}, path.Ext(name))
}

// identify the licenses of texts, by their names at SPDX where they have one.
func identify(texts []licenseText) []string {
	var names []string
	for _, text := range texts {
		for _, match := range licensecheck.Scan([]byte(text.text)).Match {
			names = append(names, match.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// choices are names of licenses as CycloneDX has them.
func choices(names []string) *cdx.Licenses {
	if len(names) == 0 {
		return nil
	}
	var all cdx.Licenses
	for _, name := range names {
		all = append(all, cdx.LicenseChoice{License: &cdx.License{Name: name}})
	}
	return &all
}

// addLicenses to all Go modules, whose texts are written at the end.
func (r *release) addLicenses(ctx context.Context, file string, c contents) error {
	var failed []error
	for url, component := range c {
		if !strings.HasPrefix(url, "pkg:golang/") {
			continue
		}
		used, known := r.modules[url]
		if !known {
			texts, err := r.licenses.of(ctx, component.Name, component.Version)
			if err != nil {
				failed = append(failed, err)
				continue
			}
			used = &usedModule{name: component.Name + " " + component.Version, texts: texts, licenses: identify(texts)}
			r.modules[url] = used
		}
		used.files = append(used.files, file)
		component.Licenses = choices(used.licenses)
		c[url] = component
	}
	return errors.Join(failed...)
}

// usedModule is a Go module in files of the release.
type usedModule struct {
	name            string
	texts           []licenseText
	licenses, files []string
}

// writeLicenses of all Go modules.
func (r *release) writeLicenses() error {
	text := licensesText("the programs and images of capcon "+r.version, slices.Collect(maps.Values(r.modules)), (*usedModule).inFiles)
	if err := os.WriteFile(filepath.Join(r.directory, licensesName), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write licenses: %w", err)
	}
	return nil
}

// licensesIn one file of the release; empty = it has no Go modules.
func (r *release) licensesIn(file string) string {
	var modules []*usedModule
	for _, module := range r.modules {
		if slices.Contains(module.files, file) {
			modules = append(modules, module)
		}
	}
	if len(modules) == 0 {
		return ""
	}
	return licensesText("this image of capcon "+r.version, modules, func(*usedModule) string { return "" })
}

// inFiles names the files of the release that have the module.
func (m *usedModule) inFiles() string {
	return "; in " + strings.Join(slices.Sorted(slices.Values(m.files)), ", ")
}

// licensesText of modules; a text that many have is there once. The line of each module ends
// with more about it.
func licensesText(where string, modules []*usedModule, more func(*usedModule) string) string {
	slices.SortFunc(modules, func(a, b *usedModule) int { return cmp.Compare(a.name, b.name) })
	holders := map[string][]string{}
	var out strings.Builder
	fmt.Fprintf(&out, "Licenses of the Go modules in %s.\n"+
		"The licenses of Debian packages are in the images: /usr/share/doc/*/copyright, /usr/share/common-licenses.\n", where)
	out.WriteString("\nModules and their licenses:\n\n")
	for _, module := range modules {
		for _, text := range module.texts {
			holders[text.text] = append(holders[text.text], fmt.Sprintf("%s (%s)", module.name, text.name))
		}
		fmt.Fprintf(&out, "- %s: %s%s\n", module.name, cmp.Or(strings.Join(module.licenses, ", "), "see its text"), more(module))
	}
	texts := make([]string, 0, len(holders))
	for text, names := range holders {
		slices.Sort(names)
		texts = append(texts, strings.Join(names, "\n")+"\n\n"+text+"\n")
	}
	slices.Sort(texts)
	for _, text := range texts {
		out.WriteString("\n" + strings.Repeat("=", 80) + "\n" + text) //nolint:mnd // A line.
	}
	return out.String()
}
