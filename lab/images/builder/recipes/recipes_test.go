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

package recipes

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

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/internal/must"
)

// TestArtifactNames: artifacts of one name would throw each other out of the
// cache, and a source file that is not there has no recipe.
func TestArtifactNames(t *testing.T) {
	t.Parallel()
	images := must.Value(Of(t.Context(), repository(t), AllNames()))(t)
	seen := map[string]*build.Artifact{}
	var visit func(a *build.Artifact)
	visit = func(a *build.Artifact) {
		if other, found := seen[a.Name]; found && other != a {
			t.Errorf("two artifacts have the name %s", a.Name)
		}
		seen[a.Name] = a
		for _, file := range a.Recipe {
			if !build.Exists(filepath.Join("..", file)) {
				t.Errorf("artifact %s has the recipe %s, which is not there", a.Name, file)
			}
		}
		for _, need := range a.Needs {
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
	text := must.Value(os.ReadFile(filepath.Join(b.Root, "templates", "cni", "flannel.yaml")))(t)
	if want := "image: " + flannelReference(b) + "\n"; !strings.Contains(string(text), want) {
		t.Errorf("templates/cni/flannel.yaml does not have %q", want)
	}
}

func TestMetricsServerExampleNamesOurImage(t *testing.T) {
	t.Parallel()
	b := repository(t)
	images := must.Value(Of(t.Context(), b, nil))(t)
	text := must.Value(os.ReadFile(filepath.Join(b.Root, "examples", "metrics-server.yaml")))(t)
	_, image, _ := strings.Cut(string(text), " image: ")
	image, _, _ = strings.Cut(image, "\n")
	if !slices.Contains(images[metricsServer].Values, image) {
		t.Errorf("examples/metrics-server.yaml has the image %s, and what is built is %q", image, images[metricsServer].Values)
	}
}

func TestPodImageFor(t *testing.T) {
	t.Parallel()
	c := &components{
		kubernetes: &build.Artifact{Name: "kubernetes"}, etcd: &build.Artifact{Name: "etcd"}, coredns: &build.Artifact{Name: "coredns"},
	}
	bases := podBases{userland: &build.Artifact{Name: "userland"}, static: &build.Artifact{Name: "static"}, pause: &build.Artifact{Name: "pause"}}
	got := map[string]string{}
	for _, reference := range []string{
		"r.example/kube-apiserver:v1", "r.example/kube-proxy:v1", "r.example/etcd:3", "r.example/coredns/coredns:v1", "r.example:5000/pause:3",
	} {
		image := must.Value(podImageFor(reference, c, bases))(t)
		base := "nothing"
		if image.base != nil {
			base = image.base.Name
		}
		got[reference] = image.source.Name + "/" + image.program + " at " + image.path + " on " + base
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
	got := strings.Join(kubernetesProgram("v1.36.3").Arguments(), " ")
	for _, want := range []string{"version.gitVersion=v1.36.3", "version.gitMajor=1", "version.gitMinor=36"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in: %s", want, got)
		}
	}
}

func TestNodeOf(t *testing.T) {
	t.Parallel()
	images := os.DirFS(repository(t).Images)
	if name, err := NodeOf(images, "v1.35.4"); name != "node-previous" || err != nil {
		t.Errorf("v1.35.4 is of image %q, %v, want node-previous", name, err)
	}
	_, err := NodeOf(images, "v1.36.99")
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
			got := must.Value(Expand(tc.given))(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := Expand([]string{"haproxy", "surprise"}); err == nil {
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
		images := must.Value(Of(t.Context(), b, names))(t)
		var built []string
		for _, name := range names {
			for _, need := range images[name].Needs {
				if slices.Contains(need.Values, "build") {
					built = append(built, need.Values[slices.Index(need.Values, "-ldflags")+2])
				}
			}
		}
		slices.Sort(built)
		if diff := cmp.Diff(tools(t, filepath.Join(b.Images, "cluster-api"+suffix, "go.mod")), built); diff != "" {
			t.Errorf("packages of images/cluster-api%s/go.mod and of its images (-want, +got):\n%s", suffix, diff)
		}
	}
}

// tools are the programs that a go.mod lists.
func tools(t *testing.T, path string) []string {
	t.Helper()
	text := must.Value(os.ReadFile(path))(t)
	file := must.Value(modfile.Parse(path, text, nil))(t)
	var paths []string
	for _, tool := range file.Tool {
		paths = append(paths, tool.Path)
	}
	slices.Sort(paths)
	return paths
}

func TestRootImage(t *testing.T) {
	t.Parallel()
	source := &build.Artifact{Name: "program", Build: func(_ context.Context, w *build.Workspace) error {
		return os.WriteFile(filepath.Join(w.Dir, "tool"), []byte("program"), 0o644)
	}}
	base := &build.Artifact{Name: "base"}
	build.Layer(base, func(_ context.Context, _ *build.Workspace, files *build.Tree) error {
		files.Write("etc/passwd", "root", 0o644)
		return files.Err
	})
	cases := map[string]struct {
		reason string
		base   *build.Artifact
		want   map[string]int64
	}{
		"alone":     {"an image may hold one file", nil, map[string]int64{"tool": 0o755}},
		"on a base": {"a program may need certificates", base, map[string]int64{"etc/passwd": 0o644, "tool": 0o755}},
	}
	b := must.Value(build.New(t.Context(), build.Options{Root: t.TempDir(), Cache: t.TempDir(), Sources: os.DirFS("..")}))(t)
	t.Cleanup(b.Close)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := builtImage(t, b, rootImage(name, Prefix+"test:1", tc.base, source, "/tool", "serve"))
			if diff := cmp.Diff(tc.want, regularFiles(t, image)); diff != "" {
				t.Errorf("%s; files and modes (-want, +got):\n%s", tc.reason, diff)
			}
			config := must.Value(image.ConfigFile())(t)
			want := v1.Config{User: unprivileged, Entrypoint: []string{"/tool", "serve"}}
			if diff := cmp.Diff(want, config.Config); diff != "" {
				t.Errorf("configuration (-want, +got):\n%s", diff)
			}
		})
	}
}

// A layer above the programs: images of the same programs share the layers below it.
func TestProgramsImageAbove(t *testing.T) {
	t.Parallel()
	program := &build.Artifact{Name: "program", Build: func(_ context.Context, w *build.Workspace) error {
		return os.WriteFile(filepath.Join(w.Dir, "tool"), []byte("program"), 0o644)
	}}
	more := build.Layer(&build.Artifact{Name: "more"}, func(_ context.Context, _ *build.Workspace, files *build.Tree) error {
		files.Write("usr/local/bin/more", "program", 0o755)
		return files.Err
	})
	b := must.Value(build.New(t.Context(), build.Options{Root: t.TempDir(), Cache: t.TempDir(), Sources: os.DirFS("..")}))(t)
	t.Cleanup(b.Close)
	image := programsImage{name: "less", reference: Prefix + "less:1", programs: map[string]*build.Artifact{"tool": program}}
	below := must.Value(builtImage(t, b, image.artifact()).Layers())(t)
	image.name, image.reference, image.above = "above", Prefix+"above:1", []*build.Artifact{more}
	built := builtImage(t, b, image.artifact())
	if diff := cmp.Diff(map[string]int64{"usr/local/bin/tool": 0o755, "usr/local/bin/more": 0o755}, regularFiles(t, built)); diff != "" {
		t.Errorf("files and modes (-want, +got):\n%s", diff)
	}
	layers := must.Value(built.Layers())(t)
	if len(layers) != len(below)+1 || must.Value(layers[0].DiffID())(t) != must.Value(below[0].DiffID())(t) {
		t.Errorf("%d layers, want that of the image without it, and one", len(layers))
	}
}

func builtImage(t *testing.T, b *build.Builder, image *build.Artifact) v1.Image {
	t.Helper()
	directory := must.Value(b.Resolve(t.Context(), image))(t)
	built := must.Value(tarball.ImageFromPath(filepath.Join(directory, build.ArchiveFile), nil))(t)
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
	module := must.Value(b.ModuleDir(t.Context(), conformanceComponent, kubernetesModule))(t)
	manifest := must.Value(os.ReadFile(filepath.Join(module, "test/utils/image/manifest.go")))(t)
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
	files := &build.Tree{Directory: t.TempDir()}
	for _, path := range []string{"usr/bin/busybox", "usr/bin/cat", "usr/sbin/ip", "usr/bin/nc.openbsd"} {
		files.Write(path, "program", 0o755)
	}
	must.Succeed(t, files.Err)
	cases := map[string]struct{ reason, command, want string }{
		"program":     {"packages come first", "cat", "cat"},
		"for root":    {"also those of /usr/sbin", "ip", "ip"},
		"alternative": {"no maintainer script has made a link", "nc", "nc.openbsd"},
		"neither":     {"BusyBox has what no package has", "wget", "busybox"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := programOf(files.Directory, tc.command); got != tc.want {
				t.Errorf("%s: %s runs %s, want %s", tc.reason, tc.command, got, tc.want)
			}
		})
	}
}
