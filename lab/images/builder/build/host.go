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

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// hostPackages are the Debian packages that building needs: the root file
// systems, the two programs in C (runc in part, pause), and the keys that
// Debian's packages are checked with.
func hostPackages() []string {
	return []string{
		"ca-certificates", "debian-archive-keyring", "debootstrap",
		"gcc", "libc6-dev", "libseccomp-dev", "pkg-config", "tar", "xz-utils",
	}
}

// PrepareHost makes sure that the machine can build root file systems and C.
func (b *Builder) PrepareHost(ctx context.Context) error {
	b.prepareOnce.Do(func() { b.unprepared = b.prepareHostOnce(ctx) })
	return b.unprepared
}

func (b *Builder) prepareHostOnce(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("not root: images are put together with debootstrap and chroot; " +
			"run this as root, or take the published images from a registry")
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(b.Cache, &stat); err != nil {
		return fmt.Errorf("look at the free space of %s: %w", b.Cache, err)
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < freeSpace {
		return fmt.Errorf("%d GB free below %s, building needs %d GB: free some, or set XDG_CACHE_HOME to a larger file system",
			free>>30, b.Cache, freeSpace>>30)
	}
	if err := b.installHostPackages(ctx); err != nil {
		return err
	}
	return b.Platform.prepare(ctx)
}

func (b *Builder) installHostPackages(ctx context.Context) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("no apt-get: images can be built on Debian and Ubuntu; take the published images from a registry: %w", err)
	}
	missing := slices.DeleteFunc(append(hostPackages(), b.Platform.hostPackages()...), func(name string) bool {
		status, err := Command{Args: []string{"dpkg-query", "--show", "--showformat", "${db:Status-Status}", name}}.Output(ctx)
		// dpkg-query fails for a package it has never heard of.
		return err == nil && status == "installed"
	})
	if len(missing) == 0 {
		return nil
	}
	b.Say("machine", "Installing %s with apt-get", strings.Join(missing, " "))
	if err := AptGet("update").Run(ctx); err != nil {
		return err
	}
	return AptGet(append([]string{"install", "--yes", "--no-install-recommends"}, missing...)...).Run(ctx)
}

// AptGet is apt-get with arguments.
func AptGet(args ...string) Command {
	return Command{
		Args: append([]string{"apt-get", "--quiet"}, args...), Env: []string{"DEBIAN_FRONTEND=noninteractive"},
		Hint: "Is a Debian or Ubuntu mirror reachable? Try the command by hand.",
	}
}

// removeScratch removes a directory that a killed build may have left mounts
// in: debootstrap mounts /proc and /sys into the root file system it makes.
func removeScratch(directory string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	for _, path := range mountsBelow(string(table), directory) {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", path, err)
		}
	}
	return os.RemoveAll(directory)
}

// mountsBelow are the mount points in a directory, the innermost first.
func mountsBelow(table, directory string) []string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var found []string
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 4 {
			found = append(found, unescape.Replace(fields[4]))
		}
	}
	slices.Reverse(found) // the table is in the order of mounting
	return slices.DeleteFunc(found, func(path string) bool {
		return !strings.HasPrefix(path, directory+string(filepath.Separator))
	})
}
