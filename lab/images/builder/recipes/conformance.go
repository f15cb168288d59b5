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
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/debian"
)

// conformanceComponent is the directory of the module that Kubernetes' tests and the
// programs of their images are built from.
const conformanceComponent = "conformance"

// testRegistry is where Kubernetes' tests take their images from.
const testRegistry = "registry.k8s.io/e2e-test-images/"

// agnhostVersion is the tag of agnhost, which it also reports.
const agnhostVersion = "2.63.0"

// testImages are the images of the conformance tests which nodes do not have, as
// repository and tag in testRegistry, by the names of their archives. Nothing pulls them:
// they are built under the names that the tests ask for, which a test compares.
func testImages() map[string][2]string {
	return map[string][2]string{
		"agnhost":           {"agnhost", agnhostVersion},
		"agnhost-previous":  {"agnhost", "2.55"},
		"busybox":           {"busybox", "1.37.0-1"},
		"glibc-dns-testing": {"glibc-dns-testing", "2.0.0"},
		"kitten":            {"kitten", "1.8"},
		"nautilus":          {"nautilus", "1.8"},
		"nginx":             {"nginx", "1.15-4"},
		"nginx-new":         {"nginx", "1.27-0"},
		"nonewprivs":        {"nonewprivs", "1.4"},
		"nonroot":           {"nonroot", "1.5"},
		"sample-apiserver":  {"sample-apiserver", "1.29.2"},
	}
}

func testReference(image [2]string) string { return testRegistry + image[0] + ":" + image[1] }

// conformanceNames are those images, and the one with the tests.
func conformanceNames() []string {
	names := append(slices.Collect(maps.Keys(testImages())), conformanceComponent)
	slices.Sort(names)
	return names
}

func agnhostPackages() []string {
	return []string{
		"bash", "bind9-dnsutils", "busybox-static", "coreutils", "curl", "dash", "iperf", "iproute2",
		"libc-bin", "netcat-openbsd", "util-linux",
	}
}

func nginxPackages() []string { return []string{"busybox-static", "dash", "nginx-light"} }

// addConformance adds the images of Kubernetes' conformance tests, with what their
// Dockerfiles list, on Debian in place of Alpine.
func (s set) addConformance() error {
	c := s.components
	programs, err := build.Program{
		Name: conformanceComponent, Packages: []string{"tool"}, Tags: kubernetesTags(),
		Ldflags: append(versionFlags("k8s.io/component-base/version", c.kubernetesVersion), "-X", "main.Version="+agnhostVersion),
		Renames: map[string]string{"go-runner": "kubeconformance", "nonewprivs": "nnp"},
	}.Artifact(s.Builder)
	if err != nil {
		return err
	}
	tests, err := build.Program{
		Name: conformanceComponent, Test: true, Packages: []string{kubernetesModule + "/test/e2e"},
		Tags: kubernetesTags(), Ldflags: versionFlags("k8s.io/component-base/version", c.kubernetesVersion),
	}.Artifact(s.Builder)
	if err != nil {
		return err
	}
	tests.Name += "-tests"
	debs := debian.Debs(Union(agnhostPackages(), nginxPackages(), []string{debian.CAPackage}))
	debs.Name += "-" + conformanceComponent
	bases := conformanceBases{
		agnhost: packagesLayer("agnhost-root", debs, agnhostPackages(),
			"user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n"),
		nginx:   packagesLayer("nginx-root", debs, nginxPackages()),
		busybox: packagesLayer("busybox-root", debs, []string{"busybox-static"}),
		static:  s.static,
	}
	for name, image := range bases.images(c, programs) {
		image.name, image.reference = name, testReference(testImages()[name])
		s.images[name] = image.artifact()
		s.images[name].Recipe = append(s.images[name].Recipe, "recipes/conformance.go")
	}
	s.images[conformanceComponent] = conformanceImage(conformanceComponent, c, s.static, programs, tests)
	return nil
}

// conformanceImage is laid out like Kubernetes' own, which tools such as Hydrophone run.
func conformanceImage(name string, c *components, static, programs, tests *build.Artifact) *build.Artifact {
	image := programsImage{
		name: name, reference: "registry.k8s.io/" + name + ":" + c.kubernetesVersion, base: static,
		programs: map[string]*build.Artifact{"e2e.test": tests, "ginkgo": programs, "kubeconformance": programs, "kubectl": c.kubernetes},
		config: v1.Config{
			Env: []string{
				defaultPath, `E2E_FOCUS=\[Conformance\]`, "E2E_SKIP=", "E2E_PROVIDER=local", "E2E_PARALLEL=1",
				"E2E_VERBOSITY=4", "RESULTS_DIR=/tmp/results", "KUBECONFIG=",
			},
			Entrypoint: []string{"kubeconformance"},
		},
	}.artifact()
	image.Recipe = append(image.Recipe, "recipes/conformance.go")
	return image
}

// conformanceBases are the layers below the programs of the tests' images.
type conformanceBases struct{ agnhost, nginx, busybox, static *build.Artifact }

// images by their names, without names and references.
func (bases conformanceBases) images(c *components, programs *build.Artifact) map[string]programsImage {
	env := []string{defaultPath}
	agnhost := programsImage{
		base: bases.agnhost, directory: ".",
		programs: map[string]*build.Artifact{"agnhost": programs, "coredns": c.coredns},
		extra:    addAgnhostFiles,
		config:   v1.Config{Env: env, Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}},
	}
	nginx := programsImage{
		base: bases.nginx, config: v1.Config{Env: env, Cmd: []string{"nginx", "-g", "daemon off;"}},
		extra: func(_ context.Context, _ *build.Workspace, t *build.Tree) error {
			t.Write("etc/nginx/nginx.conf", nginxConfig, 0o644)
			t.Mkdir("var/log/nginx", 0o755)
			t.Mkdir("var/lib/nginx", 0o755)
			return nil
		},
	}
	return map[string]programsImage{
		"agnhost": agnhost, "agnhost-previous": agnhost,
		"busybox":           {base: bases.busybox, config: v1.Config{Env: env, Cmd: []string{"sh"}}},
		"glibc-dns-testing": {base: bases.agnhost, config: v1.Config{Env: env, Cmd: []string{"bash"}}},
		"kitten":            pet(agnhost, "kitten"), "nautilus": pet(agnhost, "nautilus"),
		"nginx": nginx, "nginx-new": nginx,
		"nonewprivs": {
			base: bases.busybox, programs: map[string]*build.Artifact{"nnp": programs}, mode: os.ModeSetuid | os.ModeSetgid | 0o755,
			config: v1.Config{Env: env, Cmd: []string{"nnp"}},
		},
		"nonroot": {base: bases.busybox, config: v1.Config{Env: env, User: "1234", Cmd: []string{"sh"}}},
		"sample-apiserver": {
			base: bases.static, directory: ".", programs: map[string]*build.Artifact{"sample-apiserver": programs},
			config: v1.Config{Entrypoint: []string{"/sample-apiserver"}},
		},
	}
}

// addAgnhostFiles adds what the image has besides its program. Left out is /var/registry,
// which only tests of image volumes serve.
func addAgnhostFiles(ctx context.Context, w *build.Workspace, t *build.Tree) error {
	t.Link("agnhost", "agnhost-2")
	t.Mkdir("uploads", 0o755)
	t.Write("etc/group", "root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n", 0o644)
	return addTestFiles(ctx, w, t, "agnhost/porter", "localhost.crt", "localhost.key")
}

// addTestFiles copies files of a directory of Kubernetes' own images of its tests.
func addTestFiles(ctx context.Context, w *build.Workspace, t *build.Tree, directory string, names ...string) error {
	module, err := w.ModuleDir(ctx, conformanceComponent, kubernetesModule)
	if err != nil {
		return err
	}
	for _, name := range names {
		t.Copy(filepath.Join(module, "test/images", directory, name), name, 0o644)
	}
	return nil
}

// pet is agnhost as a web server of a picture and its name.
func pet(agnhost programsImage, name string) programsImage {
	agnhost.config.Cmd = []string{"test-webserver"}
	agnhost.extra = func(ctx context.Context, w *build.Workspace, t *build.Tree) error {
		return errors.Join(addTestFiles(ctx, w, t, name+"/html", name+".jpg", "data.json"), addAgnhostFiles(ctx, w, t))
	}
	return agnhost
}

// packagesLayer has packages, and BusyBox's commands where they have none.
func packagesLayer(name string, debs *build.Artifact, packages []string, users ...string) *build.Artifact {
	return build.Layer(&build.Artifact{
		Name: name, Needs: []*build.Artifact{debs}, Values: packages,
		Recipe: []string{"debian/packages.go", "debian/userland.go", "recipes/conformance.go"},
	}, func(ctx context.Context, w *build.Workspace, t *build.Tree) error {
		if err := debian.Unpack(ctx, w.Of(debs), packages, t); err != nil {
			return err
		}
		list, err := build.Command{Args: []string{filepath.Join(t.Directory, "usr/bin/busybox"), "--list"}}.Output(ctx)
		if err != nil {
			return err
		}
		for _, applet := range strings.Fields(list) {
			if program := programOf(t.Directory, applet); program != applet {
				t.Link(program, "usr/bin/"+applet)
			}
		}
		return debian.AddSystemFiles(ctx, w.Of(debs), t, users...)
	})
}

// programOf is what a command of BusyBox's list runs: the packages' own program, the one
// that update-alternatives would choose, or BusyBox.
func programOf(root, command string) string {
	for _, candidate := range []string{"bin/" + command, "sbin/" + command, "bin/" + command + ".openbsd"} {
		if build.Exists(filepath.Join(root, "usr", candidate)) {
			return filepath.Base(candidate)
		}
	}
	return "busybox"
}

// nginxConfig serves the files that the tests expect where the stock image has them.
const nginxConfig = `user root;
worker_processes 1;
error_log /dev/stderr notice;
pid /run/nginx.pid;
events {
  worker_connections 1024;
}
http {
  include mime.types;
  default_type application/octet-stream;
  access_log /dev/stdout;
  server {
    listen 80;
    location / {
      root /usr/share/nginx/html;
      index index.html;
    }
  }
}
`
