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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestArtifactNames: artifacts of one name would throw each other out of the
// cache.
func TestArtifactNames(t *testing.T) {
	t.Parallel()
	images, err := repository(t).recipes(t.Context(), allNames())
	if err != nil {
		t.Fatal(err)
	}
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
	text, err := os.ReadFile(filepath.Join(b.root, "templates", "cni", "flannel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "image: " + flannelReference(b) + "\n"; !strings.Contains(string(text), want) {
		t.Errorf("templates/cni/flannel.yaml does not have %q", want)
	}
}

func TestMetricsServerExampleNamesOurImage(t *testing.T) {
	t.Parallel()
	b := repository(t)
	images, err := b.recipes(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(b.root, "examples", "metrics-server.yaml"))
	if err != nil {
		t.Fatal(err)
	}
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
		image, err := podImageFor(reference, c, bases)
		if err != nil {
			t.Fatal(err)
		}
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
	if _, err := nodeOf(images, "v1.36.99"); err == nil || !strings.Contains(err.Error(), "use one of v1.36.3, v1.35.4, v1.37.2, v1.34.4") {
		t.Errorf("a version that cannot be built gives %v, want those that can", err)
	}
}
