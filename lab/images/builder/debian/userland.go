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
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// UserlandPackages are what kube-proxy and flannel call, in all modes they have.
func UserlandPackages() []string {
	return []string{"iptables", "nftables", "conntrack", "ipset", "kmod", "dash"}
}

// HaproxyPackages are those of its image: bash reads the status listener through /dev/tcp;
// coreutils as in the stock image.
func HaproxyPackages() []string {
	return []string{"haproxy", "bash", "coreutils", "dash"}
}

// maintainerPackages are only for maintainer scripts and services, which small
// images do not run.
func maintainerPackages() []string {
	return []string{
		"adduser", "debconf", "debconf-2.0", "dpkg", "init-system-helpers",
		"install-info", "lsb-base", "netbase", "sysvinit-utils", "debianutils",
	}
}

// CAPackage is where the certificates of the web's authorities come from.
const CAPackage = "ca-certificates"

// Unpack extracts packages and what they depend on below a directory that has
// the merged /usr of a Debian system, without running maintainer scripts.
func Unpack(ctx context.Context, debs string, desired []string, t *build.Tree) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		t.Mkdir("usr/"+name, 0o755)
		t.Link("usr/"+name, name)
	}
	if t.Err != nil {
		return fmt.Errorf("prepare root file system: %w", t.Err)
	}
	packages, err := readPackages(ctx, debs)
	if err != nil {
		return err
	}
	files, err := closure(packages, desired, maintainerPackages())
	if err != nil {
		return err
	}
	// --keep-directory-symlink: packages still ship /bin and /lib as directories.
	const script = `for deb in "$@"; do dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -p -C "$0"; done`
	err = build.Command{Args: append([]string{"bash", "-e", "-o", "pipefail", "-c", script, t.Directory}, files...)}.Run(ctx)
	if err != nil {
		return err
	}
	return RemoveDocumentation(t.Directory)
}

// RemoveDocumentation drops what no program reads; copyright files stay.
func RemoveDocumentation(root string) error {
	for _, path := range []string{
		"usr/share/man", "usr/share/info", "usr/share/lintian", "usr/share/locale",
		"usr/share/bash-completion", "usr/share/bug", "usr/share/gcc", "usr/share/gdb",
	} {
		if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
			return fmt.Errorf("remove documentation: %w", err)
		}
	}
	documents := filepath.Join(root, "usr", "share", "doc")
	err := filepath.WalkDir(documents, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() || entry.Name() == "copyright" {
			return err
		}
		return os.Remove(path)
	})
	if err != nil {
		return fmt.Errorf("remove documentation: %w", err)
	}
	return nil
}

// AddSystemFiles gives a tree what programs expect of any system: users, host
// lookup, a temporary directory and the certificates of authorities.
func AddSystemFiles(ctx context.Context, debs string, t *build.Tree, users ...string) error {
	t.Write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"+strings.Join(users, ""), 0o644)
	groups := "root:x:0:\n"
	for _, user := range users {
		fields := strings.Split(user, ":")
		groups += fields[0] + ":x:" + fields[3] + ":\n"
	}
	t.Write("etc/group", groups, 0o644)
	t.Write("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", 0o644)
	t.Mkdir("tmp", os.ModeSticky|0o777)
	t.Mkdir("root", 0o700)
	return addCertificates(ctx, debs, t)
}

// addCertificates gives a tree the certificates of authorities, and their copyright.
func addCertificates(ctx context.Context, debs string, t *build.Tree) error {
	authorities, err := debFile(debs, CAPackage)
	if err != nil {
		return err
	}
	directory, err := os.MkdirTemp("", "certificates-")
	if err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }() // below the temporary directory
	if err := (build.Command{Args: []string{"dpkg-deb", "--extract", authorities, directory}}).Run(ctx); err != nil {
		return err
	}
	bundle, err := certificateBundle(directory)
	if err != nil {
		return err
	}
	t.Write("etc/ssl/certs/ca-certificates.crt", bundle, 0o644)
	copyright := filepath.Join("usr", "share", "doc", CAPackage, "copyright")
	text, err := os.ReadFile(filepath.Join(directory, copyright))
	if err != nil {
		return fmt.Errorf("read copyright: %w", err)
	}
	t.Write(copyright, string(text), 0o644)
	return nil
}

// certificateBundle is what update-ca-certificates would write. directory has the package.
func certificateBundle(directory string) (string, error) {
	files, err := filepath.Glob(filepath.Join(directory, "usr", "share", "ca-certificates", "mozilla", "*.crt"))
	if err != nil {
		return "", fmt.Errorf("list certificates: %w", err)
	}
	slices.Sort(files)
	var bundle strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read certificate: %w", err)
		}
		block, _ := pem.Decode(text)
		if block == nil {
			return "", fmt.Errorf("read certificate %s: no PEM block", filepath.Base(file))
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", fmt.Errorf("read certificate %s: %w", filepath.Base(file), err)
		}
		bundle.Write(text)
	}
	return bundle.String(), nil
}

// Userland is the packet filter's tools, below kube-proxy and flannel.
func Userland(debs *build.Artifact) *build.Artifact {
	a := &build.Artifact{
		Name: "userland", Needs: []*build.Artifact{debs},
		Recipe: []string{"debian/packages.go", "debian/security.go", "debian/userland.go", "debian/iptables.go"},
		Values: UserlandPackages(),
	}
	return build.Layer(a, func(ctx context.Context, w *build.Workspace, t *build.Tree) error {
		if err := Unpack(ctx, w.Of(debs), UserlandPackages(), t); err != nil {
			return err
		}
		addIptablesWrapper(t)
		return AddSystemFiles(ctx, w.Of(debs), t)
	})
}

// Static is what a program without a C library runs on.
func Static(debs *build.Artifact) *build.Artifact {
	a := &build.Artifact{Name: "static", Needs: []*build.Artifact{debs}, Recipe: []string{"debian/userland.go"}}
	return build.Layer(a, func(ctx context.Context, w *build.Workspace, t *build.Tree) error {
		return AddSystemFiles(ctx, w.Of(debs), t)
	})
}
