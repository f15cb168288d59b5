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
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// pausePath is where Kubernetes' module has the source of the pause program.
const pausePath = "build/pause/linux/pause.c"

// containerdConfig is in kind's images/base.
const containerdConfig = "files/etc/containerd/config.toml"

// frameworkPause is the version of the pause image that Cluster API's e2e framework runs in
// the Pods of its node drain spec, whatever kubeadm's own is.
const frameworkPause = "3.10.1"

// podBases are what the images are made of besides Go programs.
type podBases struct{ userland, static, pause *build.Artifact }

// podImages are the images that kubeadm asks for, by the names it prints, the
// ones that kind's configuration of containerd and Cluster API's e2e framework ask for,
// and the Pod network's.
func podImages(ctx context.Context, w *build.Workspace, c *components, bases podBases) ([]podImage, error) {
	list := build.Command{Args: []string{
		w.Of(c.kubernetes, "kubeadm"), "config", "images", "list", "--kubernetes-version", c.kubernetesVersion,
	}}
	output, err := list.Output(ctx)
	if err != nil {
		return nil, err
	}
	images := []podImage{{
		names: []string{flannelReference(w.Builder)}, base: bases.userland, source: c.flannel,
		program: "flanneld", path: "opt/bin/flanneld",
		config: v1.Config{Env: []string{defaultPath}, Entrypoint: []string{"/opt/bin/flanneld"}},
	}}
	for _, reference := range strings.Fields(output) {
		image, err := podImageFor(reference, c, bases)
		if err != nil {
			return nil, err
		}
		if image.source == bases.pause {
			sandbox, err := kindSandboxImage(ctx, w)
			if err != nil {
				return nil, err
			}
			image.names = pauseNames(reference, sandbox)
		}
		images = append(images, image)
	}
	return images, nil
}

// pauseNames are kubeadm's name of the pause image, kind's, and the framework's.
func pauseNames(kubeadm, kind string) []string {
	repository, _, _ := strings.Cut(kubeadm, ":")
	names := []string{kubeadm}
	for _, name := range []string{kind, repository + ":" + frameworkPause} {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// podImageFor knows the images of kubeadm by the last part of their names.
func podImageFor(reference string, c *components, bases podBases) (podImage, error) {
	program, _, _ := strings.Cut(path.Base(reference), ":")
	image := podImage{
		names: []string{reference}, base: bases.static, source: c.kubernetes,
		program: program, path: "usr/local/bin/" + program,
		config: v1.Config{Env: []string{defaultPath}},
	}
	switch program {
	case "kube-apiserver", "kube-controller-manager", "kube-scheduler":
	case "kube-proxy":
		image.base = bases.userland
	case "etcd":
		image.source = c.etcd
	case "coredns":
		image.source, image.path = c.coredns, "coredns"
		image.config.Entrypoint = []string{"/coredns"}
	case "pause":
		image.base, image.source, image.path = nil, bases.pause, "pause"
		image.config.Entrypoint = []string{"/pause"}
		image.config.User = "65535:65535"
	default:
		return podImage{}, fmt.Errorf("kubeadm wants an image %s that nothing here builds", reference)
	}
	return image, nil
}

func kindSandboxImage(ctx context.Context, w *build.Workspace) (string, error) {
	base, err := kindBase(ctx, w.Builder)
	if err != nil {
		return "", err
	}
	config, err := os.ReadFile(filepath.Join(base, filepath.FromSlash(containerdConfig)))
	if err != nil {
		return "", fmt.Errorf("read kind's configuration of containerd: %w", err)
	}
	return sandboxImage(string(config))
}

// pauseProgram is Kubernetes' own, in C: one runs for every Pod.
func pauseProgram(kubernetesVersion string) *build.Artifact {
	return &build.Artifact{
		Name: "pause", Recipe: []string{"recipes/controlplane.go"}, Values: []string{kubernetesVersion},
		Build: func(ctx context.Context, w *build.Workspace) error {
			if err := w.PrepareHost(ctx); err != nil {
				return err
			}
			module, err := w.ModuleDir(ctx, "kubernetes", kubernetesModule)
			if err != nil {
				return err
			}
			return build.Command{Args: []string{
				w.Platform.Compiler(), "-Os", "-Wall", "-Werror", "-static", "-s", "-DVERSION=" + kubernetesVersion,
				"-o", filepath.Join(w.Dir, "pause"), filepath.Join(module, pausePath),
			}}.Run(ctx)
		},
	}
}
