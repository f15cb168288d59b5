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

// Package recipes says what each image is made of, from its components to its configuration.
package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/debian"
)

// Prefix is of this project's own images. With the host part "localhost" their
// names are the same in Docker and Podman, and no registry is asked for them.
const Prefix = "localhost/capcon/"

func nodeReference(version string) string { return Prefix + "node:" + version }

// flannelReference must be the image of templates/cni/flannel.yaml; a test
// compares them.
func flannelReference(b *build.Builder) string {
	version, err := b.ModuleVersion("flannel", "github.com/flannel-io/flannel")
	if err != nil {
		version = "unknown" // components() has already read the file
	}
	return Prefix + "flannel:" + version
}

const (
	HaproxyReference  = Prefix + "haproxy:2.6" // the version in Debian bookworm
	registryReference = Prefix + "registry:3.0.0"
)

// Debs are the packages of all images.
func Debs(b *build.Builder) *build.Artifact {
	return debian.Debs(Union(nodePackages(), debian.UserlandPackages(), debian.HaproxyPackages(), []string{debian.CAPackage}, b.Platform.LibraryPackages()))
}

// set of images that is put together, with what several of them are made from.
type set struct {
	*build.Builder
	images     map[string]*build.Artifact
	components *components
	static     *build.Artifact
	debs       *build.Artifact
}

// Of are the named images, with all they are made from.
func Of(ctx context.Context, b *build.Builder, names []string) (map[string]*build.Artifact, error) {
	debs := Debs(b)
	c, err := newComponents(b, debian.Libraries(b.Platform, debs))
	if err != nil {
		return nil, err
	}
	kindVersion, err := b.ModuleVersion("builder", kindModule)
	if err != nil {
		return nil, err
	}
	static := debian.Static(debs)
	bases := podBases{userland: debian.Userland(debs), static: static, pause: pauseProgram(c.kubernetesVersion)}
	root := nodeRootLayer(debs)
	s := set{Builder: b, components: c, static: static, debs: debs, images: map[string]*build.Artifact{
		nodeName: nodeRecipe(b.Root, c, root, bases, kindVersion), "registry": registryImage(c, static),
	}}
	for _, suffix := range []string{previousSuffix, nextSuffix, oldestSuffix} {
		// Only when asked for: Kubernetes takes most of a build.
		if !slices.Contains(names, nodeName+suffix) && !slices.Contains(names, proxyName+suffix) {
			continue
		}
		other, err := c.other(b, suffix)
		if err != nil {
			return nil, err
		}
		bases.pause = pauseProgram(other.kubernetesVersion)
		bases.pause.Name += suffix
		s.images[nodeName+suffix] = nodeRecipe(b.Root, other, root, bases, kindVersion)
		s.images[proxyName+suffix] = programsImage{
			name: proxyName + suffix, reference: fmt.Sprintf("registry.k8s.io/%s:%s", proxyName, other.kubernetesVersion),
			base: bases.userland, programs: map[string]*build.Artifact{proxyName: other.kubernetes},
			config: v1.Config{Env: []string{defaultPath}},
		}.artifact()
	}
	requested := func(name string) bool { return slices.Contains(names, name) }
	return s.images, errors.Join(s.addOwn(ctx, requested), s.addConformance(), s.addManagement(), s.addMetricsServer())
}

// Union is sorted, and has each package once.
func Union(lists ...[]string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(lists...))))
}

// nodeRecipe is the node image of one version of Kubernetes.
func nodeRecipe(repository string, c *components, root *build.Artifact, bases podBases, kindVersion string) *build.Artifact {
	programs, images := nodeProgramsLayer(c), nodeImagesLayer(c, bases, kindVersion)
	configuration := nodeConfigurationLayer(c, kindVersion, filepath.Join(repository, "templates", "cni", "flannel.yaml"))
	image := nodeImage(nodeReference(c.kubernetesVersion), root, programs, images, configuration)
	for _, part := range []*build.Artifact{programs, images, configuration, image} {
		part.Name += c.suffix
	}
	return image
}

// programsImage is an image of static programs.
type programsImage struct {
	name, reference string
	// base is the layer below the programs, nil for none.
	base *build.Artifact
	// Directory of the programs; default usr/local/bin.
	directory string
	// programs are the artifacts to take programs from, by program.
	programs map[string]*build.Artifact
	// mode of the programs; default 0755.
	mode os.FileMode
	// extra adds files besides.
	extra func(ctx context.Context, w *build.Workspace, t *build.Tree) error
	// above are layers above that of the programs.
	above  []*build.Artifact
	config v1.Config
}

func (p programsImage) artifact() *build.Artifact {
	names := slices.Sorted(maps.Keys(p.programs))
	var needs []*build.Artifact
	if p.base != nil {
		needs = append(needs, p.base)
	}
	for _, name := range names {
		if !slices.Contains(needs, p.programs[name]) {
			needs = append(needs, p.programs[name])
		}
	}
	return &build.Artifact{
		Name: p.name, Needs: append(needs, p.above...), Values: append(names, p.reference),
		Recipe: []string{"recipes/recipes.go", "recipes/small.go", "build/layer.go"},
		Build: func(ctx context.Context, w *build.Workspace) error {
			t := &build.Tree{Directory: filepath.Join(w.Scratch, "tree")}
			t.Mkdir(".", 0o755)
			for _, name := range names {
				t.Copy(w.Of(p.programs[name], name), path.Join(cmp.Or(p.directory, "usr/local/bin"), name), cmp.Or(p.mode, 0o755))
			}
			if p.extra != nil {
				if err := p.extra(ctx, w, t); err != nil {
					return err
				}
			}
			if t.Err != nil {
				return fmt.Errorf("write files: %w", t.Err)
			}
			layer := filepath.Join(w.Scratch, build.LayerFile)
			if err := build.PackLayer(ctx, t.Directory, layer); err != nil {
				return err
			}
			layers := []build.ImageLayer{{File: layer, Comment: p.name}}
			if p.base != nil {
				layers = slices.Insert(layers, 0, build.ImageLayer{File: w.Of(p.base, build.LayerFile), Comment: p.base.Name})
			}
			for _, layer := range p.above {
				layers = append(layers, build.ImageLayer{File: w.Of(layer, build.LayerFile), Comment: layer.Name})
			}
			return w.Platform.WriteImage(w.Dir, p.reference, layers, p.config)
		},
	}
}
