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
)

// prefix is of this project's own images. With the host part "localhost" their
// names are the same in Docker and Podman, and no registry is asked for them.
const prefix = "localhost/capcon/"

func nodeReference(version string) string { return prefix + "node:" + version }

// flannelReference must be the image of templates/cni/flannel.yaml; a test
// compares them.
func flannelReference(b *builder) string {
	version, err := b.moduleVersion("flannel", "github.com/flannel-io/flannel")
	if err != nil {
		version = "unknown" // components() has already read the file
	}
	return prefix + "flannel:" + version
}

const (
	haproxyReference  = prefix + "haproxy:2.6" // the version in Debian bookworm
	registryReference = prefix + "registry:3.0.0"
)

// debs are the packages of all images.
func (b *builder) debs() *artifact {
	return debsArtifact(union(nodePackages(), userlandPackages(), haproxyPackages(), []string{caPackage}, b.platform.libraryPackages()))
}

// recipes are the named images, with all they are made from.
func (b *builder) recipes(ctx context.Context, names []string) (map[string]*artifact, error) {
	debs := b.debs()
	c, err := b.components(b.platform.librariesArtifact(debs))
	if err != nil {
		return nil, err
	}
	kindVersion, err := b.moduleVersion("builder", kindModule)
	if err != nil {
		return nil, err
	}
	static := staticLayer(debs)
	bases := podBases{userland: userlandLayer(debs), static: static, pause: pauseProgram(c.kubernetesVersion)}
	root := nodeRootLayer(debs)
	node := b.nodeRecipe(c, root, bases, kindVersion)
	images := map[string]*artifact{
		nodeName: node, "haproxy": haproxyImage(debs), "registry": registryImage(c, static),
	}
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
		bases.pause.name += suffix
		images[nodeName+suffix] = b.nodeRecipe(other, root, bases, kindVersion)
		images[proxyName+suffix] = programsImage{
			name: proxyName + suffix, reference: fmt.Sprintf("registry.k8s.io/%s:%s", proxyName, other.kubernetesVersion),
			base: bases.userland, programs: map[string]*artifact{proxyName: other.kubernetes},
			config: v1.Config{Env: []string{defaultPath}},
		}.artifact()
	}
	requested := func(name string) bool { return slices.Contains(names, name) }
	return images, errors.Join(b.addOwn(ctx, images, requested, c, static), b.addConformance(images, c, static), b.addManagement(images, static), b.addMetricsServer(images, static))
}

// union is sorted, and has each package once.
func union(lists ...[]string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(lists...))))
}

// nodeRecipe is the node image of one version of Kubernetes.
func (b *builder) nodeRecipe(c *components, root *artifact, bases podBases, kindVersion string) *artifact {
	programs, images := nodeProgramsLayer(c), nodeImagesLayer(c, bases, kindVersion)
	configuration := nodeConfigurationLayer(c, kindVersion, filepath.Join(b.root, "templates", "cni", "flannel.yaml"))
	image := nodeImage(nodeReference(c.kubernetesVersion), root, programs, images, configuration)
	for _, part := range []*artifact{programs, images, configuration, image} {
		part.name += c.suffix
	}
	return image
}

// programsImage is an image of static programs.
type programsImage struct {
	name, reference string
	// base is the layer below the programs, nil for none.
	base *artifact
	// directory of the programs; default usr/local/bin.
	directory string
	// programs are the artifacts to take programs from, by program.
	programs map[string]*artifact
	// mode of the programs; default 0755.
	mode os.FileMode
	// extra adds files besides.
	extra  func(ctx context.Context, w *workspace, t *tree) error
	config v1.Config
}

func (p programsImage) artifact() *artifact {
	names := slices.Sorted(maps.Keys(p.programs))
	var needs []*artifact
	if p.base != nil {
		needs = append(needs, p.base)
	}
	for _, name := range names {
		if !slices.Contains(needs, p.programs[name]) {
			needs = append(needs, p.programs[name])
		}
	}
	return &artifact{
		name: p.name, needs: needs, values: append(names, p.reference),
		recipe: []string{"recipes.go", "small.go", "layer.go"},
		build: func(ctx context.Context, w *workspace) error {
			t := &tree{directory: filepath.Join(w.scratch, "tree")}
			t.mkdir(".", 0o755)
			for _, name := range names {
				t.copy(w.of(p.programs[name], name), path.Join(cmp.Or(p.directory, "usr/local/bin"), name), cmp.Or(p.mode, 0o755))
			}
			if p.extra != nil {
				if err := p.extra(ctx, w, t); err != nil {
					return err
				}
			}
			if t.err != nil {
				return fmt.Errorf("write files: %w", t.err)
			}
			layer := filepath.Join(w.scratch, layerFile)
			if err := packLayer(ctx, t.directory, layer); err != nil {
				return err
			}
			layers := []imageLayer{{layer, p.name}}
			if p.base != nil {
				layers = slices.Insert(layers, 0, imageLayer{w.of(p.base, layerFile), p.base.name})
			}
			return w.platform.writeImage(w.dir, p.reference, layers, p.config)
		},
	}
}
