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
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// notConformance are images that no conformance test runs.
var notConformance = []string{
	"apparmor-loader", "ipc-utils", "node-perf/npb-ep", "node-perf/npb-is", "node-perf/pytorch-wide-deep", "perl",
	"regression-issue-74839", "resource-consumer", "volume/iscsi", "volume/nfs",
}

// TestTestImages: nodes cannot pull what is not built.
func TestTestImages(t *testing.T) {
	t.Parallel()
	b := repository(t)
	module, err := b.moduleDir(t.Context(), conformanceComponent, kubernetesModule)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(module, "test/utils/image/manifest.go"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, match := range regexp.MustCompile(`list\.PromoterE2eRegistry, "([^"]+)", "([^"]+)"`).FindAllStringSubmatch(string(manifest), -1) {
		if !slices.Contains(notConformance, match[1]) {
			want = append(want, testRegistry+match[1]+":"+match[2])
		}
	}
	for _, image := range testImages() {
		got = append(got, testReference(image))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images of Kubernetes' tests (-want, +got):\n%s", diff)
	}
}

func TestProgramOf(t *testing.T) {
	t.Parallel()
	files := &tree{directory: t.TempDir()}
	for _, path := range []string{"usr/bin/busybox", "usr/bin/cat", "usr/sbin/ip", "usr/bin/nc.openbsd"} {
		files.write(path, "program", 0o755)
	}
	if files.err != nil {
		t.Fatal(files.err)
	}
	cases := map[string]struct{ reason, command, want string }{
		"program":     {"packages come first", "cat", "cat"},
		"for root":    {"also those of /usr/sbin", "ip", "ip"},
		"alternative": {"no maintainer script has made a link", "nc", "nc.openbsd"},
		"neither":     {"BusyBox has what no package has", "wget", "busybox"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := programOf(files.directory, tc.command); got != tc.want {
				t.Errorf("%s: %s runs %s, want %s", tc.reason, tc.command, got, tc.want)
			}
		})
	}
}
