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
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/mod/modfile"
)

// TestArtifactNames: artifacts of one name would throw each other out of the
// cache.
func TestArtifactNames(t *testing.T) {
	t.Parallel()
	images := get(repository(t).recipes(t.Context(), allNames()))(t)
	seen := map[string]*artifact{}
	var visit func(a *artifact)
	visit = func(a *artifact) {
		if other, found := seen[a.name]; found && other != a {
			t.Errorf("two artifacts have the name %s", a.name)
		}
		seen[a.name] = a
		for _, need := range a.needs {
			visit(need)
		}
	}
	for _, image := range images {
		visit(image)
	}
}

func TestFlannelManifestNamesOurImage(t *testing.T) {
	t.Parallel()
	b := repository(t)
	text := get(os.ReadFile(filepath.Join(b.root, "templates", "cni", "flannel.yaml")))(t)
	if want := "image: " + flannelReference(b) + "\n"; !strings.Contains(string(text), want) {
		t.Errorf("templates/cni/flannel.yaml does not have %q", want)
	}
}

func TestMetricsServerExampleNamesOurImage(t *testing.T) {
	t.Parallel()
	b := repository(t)
	images := get(b.recipes(t.Context(), nil))(t)
	text := get(os.ReadFile(filepath.Join(b.root, "examples", "metrics-server.yaml")))(t)
	_, image, _ := strings.Cut(string(text), " image: ")
	image, _, _ = strings.Cut(image, "\n")
	if !slices.Contains(images[metricsServer].values, image) {
		t.Errorf("examples/metrics-server.yaml has the image %s, and what is built is %q", image, images[metricsServer].values)
	}
}

func TestPodImageFor(t *testing.T) {
	t.Parallel()
	c := &components{
		kubernetes: &artifact{name: "kubernetes"}, etcd: &artifact{name: "etcd"}, coredns: &artifact{name: "coredns"},
	}
	bases := podBases{userland: &artifact{name: "userland"}, static: &artifact{name: "static"}, pause: &artifact{name: "pause"}}
	got := map[string]string{}
	for _, reference := range []string{
		"r.example/kube-apiserver:v1", "r.example/kube-proxy:v1", "r.example/etcd:3", "r.example/coredns/coredns:v1", "r.example:5000/pause:3",
	} {
		image := get(podImageFor(reference, c, bases))(t)
		base := "nothing"
		if image.base != nil {
			base = image.base.name
		}
		got[reference] = image.source.name + "/" + image.program + " at " + image.path + " on " + base
	}
	want := map[string]string{
		"r.example/kube-apiserver:v1":  "kubernetes/kube-apiserver at usr/local/bin/kube-apiserver on static",
		"r.example/kube-proxy:v1":      "kubernetes/kube-proxy at usr/local/bin/kube-proxy on userland",
		"r.example/etcd:3":             "etcd/etcd at usr/local/bin/etcd on static",
		"r.example/coredns/coredns:v1": "coredns/coredns at coredns on static",
		"r.example:5000/pause:3":       "pause/pause at pause on nothing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images of kubeadm (-want, +got):\n%s", diff)
	}
	if _, err := podImageFor("r.example/surprise:v1", c, bases); err == nil {
		t.Error("an image that nothing builds must be an error, not an incomplete node")
	}
}

func TestKubernetesProgramKnowsItsVersion(t *testing.T) {
	t.Parallel()
	got := strings.Join(kubernetesProgram("v1.36.3").arguments(), " ")
	for _, want := range []string{"version.gitVersion=v1.36.3", "version.gitMajor=1", "version.gitMinor=36"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in: %s", want, got)
		}
	}
}

func TestNodeOf(t *testing.T) {
	t.Parallel()
	images := os.DirFS(repository(t).images)
	if name, err := nodeOf(images, "v1.35.4"); name != "node-previous" || err != nil {
		t.Errorf("v1.35.4 is of image %q, %v, want node-previous", name, err)
	}
	err := run(t.Context(), []string{"-kubernetes", "v1.36.99"})
	if err == nil || !strings.Contains(err.Error(), "use one of v1.36.3, v1.35.4, v1.37.2, v1.34.4") {
		t.Errorf("a version that cannot be built gives %v, want those that can", err)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		given  []string
		want   []string
	}{
		"nothing":   {"the images that every cluster needs", nil, imageNames()},
		"an image":  {"an image is its own name", []string{"haproxy"}, []string{"haproxy"}},
		"a group":   {"a group stands for its images", []string{"management-previous"}, previousManagementNames()},
		"a mixture": {"in the order of the arguments", []string{"haproxy", "management"}, append([]string{"haproxy"}, managementNames()...)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := get(expand(tc.given))(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := expand([]string{"haproxy", "surprise"}); err == nil {
		t.Error("an image that nothing builds must be an error")
	}
}

// TestClusterAPIPrograms: the core manager's package has moved between versions,
// and each manager is an image.
func TestClusterAPIPrograms(t *testing.T) {
	t.Parallel()
	b := repository(t)
	for _, suffix := range []string{"", previousSuffix} {
		names := clusterAPINames()
		for i := range names {
			names[i] += suffix
		}
		images := get(b.recipes(t.Context(), names))(t)
		var built []string
		for _, name := range names {
			for _, need := range images[name].needs {
				if slices.Contains(need.values, "build") {
					built = append(built, need.values[slices.Index(need.values, "-ldflags")+2])
				}
			}
		}
		slices.Sort(built)
		if diff := cmp.Diff(tools(t, filepath.Join(b.images, "cluster-api"+suffix, "go.mod")), built); diff != "" {
			t.Errorf("packages of images/cluster-api%s/go.mod and of its images (-want, +got):\n%s", suffix, diff)
		}
	}
}

// tools are the programs that a go.mod lists.
func tools(t *testing.T, path string) []string {
	t.Helper()
	text := get(os.ReadFile(path))(t)
	file := get(modfile.Parse(path, text, nil))(t)
	var paths []string
	for _, tool := range file.Tool {
		paths = append(paths, tool.Path)
	}
	slices.Sort(paths)
	return paths
}

func TestRootImage(t *testing.T) {
	t.Parallel()
	source := &artifact{name: "program", build: func(_ context.Context, w *workspace) error {
		return os.WriteFile(filepath.Join(w.dir, "tool"), []byte("program"), 0o644)
	}}
	base := &artifact{name: "base"}
	layerArtifact(base, func(_ context.Context, _ *workspace, files *tree) error {
		files.write("etc/passwd", "root", 0o644)
		return files.err
	})
	cases := map[string]struct {
		reason string
		base   *artifact
		want   map[string]int64
	}{
		"alone":     {"an image may hold one file", nil, map[string]int64{"tool": 0o755}},
		"on a base": {"a program may need certificates", base, map[string]int64{"etc/passwd": 0o644, "tool": 0o755}},
	}
	b := newTestBuilder(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := build(t, b, rootImage(name, prefix+"test:1", tc.base, source, "/tool", "serve"))
			if diff := cmp.Diff(tc.want, regularFiles(t, image)); diff != "" {
				t.Errorf("%s; files and modes (-want, +got):\n%s", tc.reason, diff)
			}
			config := get(image.ConfigFile())(t)
			want := v1.Config{User: unprivileged, Entrypoint: []string{"/tool", "serve"}}
			if diff := cmp.Diff(want, config.Config); diff != "" {
				t.Errorf("configuration (-want, +got):\n%s", diff)
			}
		})
	}
}

func build(t *testing.T, b *builder, image *artifact) v1.Image {
	t.Helper()
	directory := get(b.resolve(t.Context(), image))(t)
	built := get(tarball.ImageFromPath(filepath.Join(directory, archiveFile), nil))(t)
	return built
}

// regularFiles of an image, with their modes.
func regularFiles(t *testing.T, image v1.Image) map[string]int64 {
	t.Helper()
	stream := mutate.Extract(image)
	defer func() { _ = stream.Close() }() // only read
	files := map[string]int64{}
	reader := tar.NewReader(stream)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			files[filepath.Clean(header.Name)] = header.Mode
		}
	}
}

// notConformance are images that no conformance test runs.
var notConformance = []string{
	"apparmor-loader", "ipc-utils", "node-perf/npb-ep", "node-perf/npb-is", "node-perf/pytorch-wide-deep", "perl",
	"regression-issue-74839", "resource-consumer", "volume/iscsi", "volume/nfs",
}

// TestTestImages: nodes cannot pull what is not built.
func TestTestImages(t *testing.T) {
	t.Parallel()
	b := repository(t)
	module := get(b.moduleDir(t.Context(), conformanceComponent, kubernetesModule))(t)
	manifest := get(os.ReadFile(filepath.Join(module, "test/utils/image/manifest.go")))(t)
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
	succeed(t, files.err)
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
