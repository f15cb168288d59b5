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

package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

// Use is what an image is for.
type Use string

// The uses of images.
const (
	Node         Use = "node"
	LoadBalancer Use = "load balancer"
	Plane        Use = "management plane"
	// MemoryPlane is a management plane whose clusters are in memory.
	MemoryPlane Use = "management plane in memory"
	Registry    Use = "local registry"
)

// registryImage is the distribution project's registry 3.0.0 as Docker's official image.
const registryImage = "docker.io/library/registry@sha256:6c5666b861f3505b116bb9aa9b25175e71210414bd010d92035ff64018f9457e"

// sources name what there is for each use; for nodes, a version of Kubernetes decides.
var sources = map[Use]struct {
	// flag that chooses the image.
	flag string
	// built is the image that "make images" builds. It is in no registry.
	built string
	// published is the one that the provider itself would take. None of the plane is.
	published string
	// mirrored is what follows the registry that the user names in the name of its image.
	// The plane has none: it gets the engine's socket, and a tag is no proof of what is
	// there.
	mirrored string
	// archive of a release that has the image that is built.
	archive string
}{
	Node: {flag: "--image", mirrored: "/kindest/node:", archive: "node" + archiveSuffix},
	LoadBalancer: {
		flag: "--load-balancer-image", built: loadbalancer.BuiltImage,
		published: loadbalancer.DefaultImage, mirrored: "/library/haproxy:3.2", archive: "haproxy" + archiveSuffix,
	},
	Registry: {flag: "--image", built: "localhost/capcon/registry:3.0.0", published: registryImage, archive: "registry" + archiveSuffix},
	Plane:    {flag: "--plane-image", built: planeImage(planeRepository), published: planeImage(planeRepository), archive: "plane" + archiveSuffix},
	// No release has it.
	MemoryPlane: {flag: "--plane-image", built: planeImage(memoryPlaneRepository), published: planeImage(memoryPlaneRepository)},
}

// planeRepository has the images of planes by their releases, and memoryPlaneRepository those of planes whose clusters are
// in memory.
const (
	planeRepository       = "localhost/capcon/plane:"
	memoryPlaneRepository = "localhost/capcon/plane-memory:"
)

// planeImage is the one of this program's version: an older one may not have its API.
func planeImage(repository string) string { return repository + release.Tag() }

// isPlane reports whether the image is of a management plane, which gets the engine's socket, or may get it later.
func (u Use) isPlane() bool { return u == Plane || u == MemoryPlane }

// Reserved reports whether an engine may give an image one of the names by which capcon
// runs images: with privileges, and the management plane with the engine's socket. Podman
// puts localhost/ before a name without a registry.
func Reserved(reference string) bool {
	for _, source := range sources {
		repository := cmp.Or(source.built, node.BuiltImage(""))
		repository = repository[:strings.LastIndex(repository, ":")]
		for _, name := range []string{reference, "localhost/" + reference} {
			parsed, err := adapter.ParseReference(name)
			if err == nil && parsed.Name[:strings.LastIndexAny(parsed.Name, ":@")] == repository {
				return true
			}
		}
	}
	return false
}

// archiveSuffix ends the names of the archives of a release, which has images of one
// architecture.
const archiveSuffix = "-linux-amd64.tar"

// Request is what the user said about the image for a use.
type Request struct {
	Use Use
	// Named by the user; empty = to be chosen.
	Named string
	// Registry that the user named; empty = none.
	Registry string
	// KubernetesVersion of a node image.
	KubernetesVersion string
}

// Inspector is what choosing needs of an engine.
type Inspector interface {
	InspectImage(ctx context.Context, reference string) (engine.Image, error)
}

// Choose returns the reference of the image to use. The engine need not have
// it. No node image is known for the Kubernetes version, and none was named:
// *node.VersionError.
func Choose(ctx context.Context, e Inspector, request Request) (string, error) {
	if request.Named != "" {
		return request.Named, nil
	}
	source := sources[request.Use]
	if request.Registry != "" && source.mirrored != "" {
		return request.Registry + source.mirrored + request.KubernetesVersion, nil
	}
	built := cmp.Or(source.built, node.BuiltImage(request.KubernetesVersion))
	_, found, err := Find(ctx, e, built)
	switch {
	case err != nil:
		return "", err
	case found:
		return built, nil
	}
	return request.published()
}

// Find an image of the engine; found is false where it is not there.
func Find(ctx context.Context, e Inspector, reference string) (image engine.Image, found bool, err error) {
	image, err = e.InspectImage(ctx, reference)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return engine.Image{}, false, nil
	case err != nil:
		return engine.Image{}, false, fmt.Errorf("inspect image %q: %w", reference, err)
	}
	return image, true, nil
}

// Copy an image to another engine.
func Copy(ctx context.Context, from, to engine.Images, image string) error {
	archive, err := from.SaveImage(ctx, image)
	if err != nil {
		return fmt.Errorf("save image %q: %w", image, err)
	}
	defer archive.Close()
	if err := to.LoadImage(ctx, archive); err != nil {
		return fmt.Errorf("load image %q: %w", image, err)
	}
	return nil
}

// published is the image that is taken where none was built.
func (r Request) published() (string, error) {
	if image := sources[r.Use].published; image != "" {
		return image, nil
	}
	image, err := node.Image(r.KubernetesVersion)
	if err != nil {
		return "", fmt.Errorf("choose node image: %w; use %s, or use a known version", err, sources[Node].flag)
	}
	return image, nil
}

// errNotPinned says that an image is not pulled by its tag.
var errNotPinned = errors.New("images with access to the engine's socket are pulled by digest only")

// MissingError says that the engine does not have an image and cannot get it.
type MissingError struct {
	Use       Use
	Reference string
	// Err is why it cannot be fetched.
	Err error
}

// Error implements error. It names what each kind of user can do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("image %q of the %s not found on the engine, and %s; %s, or %s", e.Reference, e.Use, e.why(), e.remedy(), e.other())
}

// remedy of images that are not built from source differs.
func (e *MissingError) remedy() string {
	version, built := strings.CutPrefix(e.Reference, node.BuiltImage(""))
	switch {
	case e.Use == MemoryPlane:
		return memoryRemedy(release.Version())
	case built && version != node.DefaultVersion:
		return fmt.Sprintf(`build it from source and load it with "%s ENGINE=docker" (or ENGINE=podman), load an archive with "capcon images load FILE"`, BuildCommand(version))
	case strings.HasPrefix(e.Reference, "localhost/capcon/"), e.Use != Node && !strings.HasPrefix(e.Reference, "localhost/"):
		return remedy(e.Use, release.Version())
	case strings.HasPrefix(e.Reference, "localhost/"):
		return `check its name, load an archive with "capcon images load FILE"`
	}
	return fmt.Sprintf(`load an archive with "capcon images load FILE", use --kubernetes-version %s after %q`,
		node.DefaultVersion, LoadCommand(Node, release.Version()))
}

// memoryRemedy says how the engine gets the image of a plane in memory: from source, also of a release.
func memoryRemedy(version string) string {
	if version == "" {
		return `build and load it with "make images-load IMAGES=plane-memory ENGINE=docker" (or ENGINE=podman)`
	}
	return fmt.Sprintf(`no release has it: check out the source of %[1]s, and build and load it with `+
		`"go -C lab/images/builder run . -version %[1]s -load docker plane-memory-release" (or -load podman)`, version)
}

// remedy says how the engine gets the image that is built for a use, of a release or,
// without a version, from source.
func remedy(use Use, version string) string {
	if version == "" {
		return `build and load it with "make images-load ENGINE=docker" (or ENGINE=podman), load an archive with "capcon images load FILE"`
	}
	return fmt.Sprintf("download %s of release %s and run %q", sources[use].archive, version, LoadCommand(use, version))
}

// BuildCommand builds the node image of a version of Kubernetes from source, and loads it.
func BuildCommand(version string) string { return "make images-load KUBERNETES_VERSION=" + version }

// LoadCommand gives the engine the image that is built for a use, of a release or, without
// a version, from source.
func LoadCommand(use Use, version string) string {
	if version == "" {
		return "make images-load"
	}
	return "capcon images load " + sources[use].archive
}

func (e *MissingError) why() string {
	switch {
	case errors.Is(e.Err, imagepull.ErrLocalOnly):
		return imagepull.ErrLocalOnly.Error()
	case errors.Is(e.Err, errNotPinned):
		return e.Err.Error()
	case errors.Is(e.Err, engine.ErrNotFound):
		return fmt.Sprintf("not found in its registry (%v)", e.Err)
	case errors.Is(e.Err, engine.ErrUnauthorized):
		return fmt.Sprintf("its registry rejects the credentials; log in with \"docker login\" or \"podman login\" (%v)", e.Err)
	case errors.Is(e.Err, engine.ErrUnavailable):
		return fmt.Sprintf("its registry is not reachable (%v)", e.Err)
	}
	return fmt.Sprintf("pulling it failed (%v)", e.Err)
}

// other is how to name another image.
func (e *MissingError) other() string {
	if e.Use.isPlane() {
		return "use an image with a digest: " + sources[Plane].flag + " REGISTRY/NAME@sha256:DIGEST"
	}
	return "use another image with " + sources[e.Use].flag + " or --registry"
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }
