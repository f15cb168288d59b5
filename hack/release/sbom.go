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
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/capi-samples/cluster-api-provider-container/hack/imagefiles"
)

const (
	archiveExtension = ".tar"
	// debianExtension of the list of packages that the image builder writes next to an archive.
	debianExtension = ".debian"
	sbomExtension   = ".cdx.json"
)

// contents are the components of a file, by package URL.
type contents map[string]cdx.Component

func (r *release) describePrograms(ctx context.Context) error {
	for _, platform := range r.platforms {
		name := programName(platform)
		info, err := buildinfo.ReadFile(filepath.Join(r.directory, name))
		if err != nil {
			return fmt.Errorf("read modules of %s: %w", name, err)
		}
		c := contents{}
		c.addModules(info, r.version)
		if err := r.addLicenses(ctx, name, c); err != nil {
			return err
		}
		if err := r.writeSBOM(name, cdx.ComponentTypeApplication, c); err != nil {
			return err
		}
	}
	return nil
}

// describeImages writes the licenses of all images in the directory into them, and their SBOMs,
// and removes the lists of their Debian packages.
func (r *release) describeImages(ctx context.Context) error {
	archives, err := filepath.Glob(filepath.Join(r.directory, "*"+archiveExtension))
	if err != nil || len(archives) == 0 {
		return errors.Join(fmt.Errorf("there is no image in %s", r.directory), err)
	}
	for _, archive := range archives {
		if err := r.describeImage(ctx, archive); err != nil {
			return fmt.Errorf("describe image %s: %w", archive, err)
		}
	}
	return nil
}

// describeImage writes the licenses of an image into it, and its SBOM.
func (r *release) describeImage(ctx context.Context, archive string) error {
	name, list := filepath.Base(archive), strings.TrimSuffix(archive, archiveExtension)+debianExtension
	c := contents{}
	copyrights := map[string][]string{}
	if err := errors.Join(c.addImage(archive, r.version, copyrights), c.addPackages(list, copyrights)); err != nil {
		return err
	}
	if err := r.addLicenses(ctx, name, c); err != nil {
		return err
	}
	text := r.licensesIn(name)
	if err := r.packImage(ctx, archive, text); err != nil {
		return err
	}
	if text != "" {
		c.addFile(licensesDirectory+"/"+licensesName, text)
	}
	if err := r.writeSBOM(name, cdx.ComponentTypeContainer, c); err != nil {
		return err
	}
	return os.Remove(list)
}

// addImage adds the modules of all Go programs in an image, and the licenses of its Debian
// packages to copyrights.
func (c contents) addImage(archive, version string, copyrights map[string][]string) error {
	return imagefiles.Visit(archive, func(header *tar.Header, content io.Reader) (err error) {
		at := copyright.FindStringSubmatch(header.Name)
		switch {
		case len(at) > 1:
			copyrights[at[1]], err = debianLicenses(content)
		case header.Mode&0o111 != 0:
			err = c.addProgram(content, version)
		}
		return err
	})
}

func (c contents) addProgram(file io.Reader, version string) error {
	program, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	// Any other program is one of Debian's.
	if info, err := buildinfo.Read(bytes.NewReader(program)); err == nil {
		c.addModules(info, version)
	}
	return nil
}

// copyright is where a Debian package has its licenses.
var copyright = regexp.MustCompile(`^(?:\./)?usr/share/doc/([^/]+)/copyright$`)

// debianLicenses reads the names of licenses of a machine-readable copyright file.
func debianLicenses(file io.Reader) ([]string, error) {
	text, err := io.ReadAll(file)
	var names []string
	for _, found := range debianLicense.FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

var debianLicense = regexp.MustCompile(`(?m)^License:[ \t]*(\S.*?)[ \t]*$`)

// addModules adds what a Go program is made of. Modules of this repository have the version
// of the release.
func (c contents) addModules(info *debug.BuildInfo, version string) {
	c.add("golang", "std", strings.TrimPrefix(info.GoVersion, "go"), "")
	own := info.Main
	if isOwn(own.Path) {
		own.Version = version
	}
	for _, m := range append([]*debug.Module{&own}, info.Deps...) {
		for m.Replace != nil {
			m = m.Replace
		}
		c.add("golang", m.Path, m.Version, "")
	}
}

// addPackages adds those of a list: name, version and architecture.
func (c contents) addPackages(list string, copyrights map[string][]string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("read the list of Debian packages: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return fmt.Errorf("%s: %q is no package", list, line)
		}
		c.add("deb", "debian/"+fields[0], strings.ReplaceAll(fields[1], "+", "%2B"), "?arch="+fields[2], copyrights[fields[0]]...)
	}
	return nil
}

// add a component by the parts of its package URL.
func (c contents) add(kind, path, version, qualifiers string, licenses ...string) {
	url := "pkg:" + kind + "/" + path + "@" + version + qualifiers
	c[url] = cdx.Component{
		BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: strings.TrimPrefix(path, "debian/"),
		Version: strings.ReplaceAll(version, "%2B", "+"), PackageURL: url, Licenses: choices(licenses),
	}
}

// addFile with a text.
func (c contents) addFile(path, text string) {
	c[path] = cdx.Component{
		BOMRef: path, Type: cdx.ComponentTypeFile, Name: "/" + path,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}},
	}
}

func sumFile(path string) (sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("compute checksum: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", fmt.Errorf("compute checksum of %s: %w", path, err)
	}
	return fmt.Sprintf("%x", digest.Sum(nil)), nil
}

// writeSBOM of a file. It has no serial number, which would be another one each time.
func (r release) writeSBOM(name string, kind cdx.ComponentType, c contents) (err error) {
	sum, err := sumFile(filepath.Join(r.directory, name))
	if err != nil {
		return err
	}
	components := slices.SortedFunc(maps.Values(c), func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &cdx.Component{
		BOMRef: name, Type: kind, Name: name, Version: r.version, Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
	}}
	bom.Components = &components
	path := filepath.Join(r.directory, strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), archiveExtension)+sbomExtension)
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create SBOM: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return fmt.Errorf("write SBOM %s: %w", path, err)
	}
	return nil
}
