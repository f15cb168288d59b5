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

package adapter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// localhost is the registry of images that are built or loaded on this host.
// Podman puts it before the names of a docker-archive that have none.
const localhost = "localhost"

// Reference to an image by name, in the one form that all engines read alike, with the registry
// in it. Docker reads a name without a registry as one of docker.io; Podman looks for it in
// whatever registries its configuration lists.
type Reference struct {
	// Name in full: registry, repository, and the digest, or else the tag. A
	// tag next to a digest is dropped: it decides nothing, and Podman refuses it.
	Name string
	// Registry is its host, with the port where one is given.
	Registry string
	// Pinned: the name has a digest, so that it always means the same image.
	Pinned bool
	// Short: the registry was not given, docker.io is meant.
	Short bool
}

// ParseReference reads a reference. An ID of an image is no reference.
func ParseReference(text string) (Reference, error) {
	parsed, err := reference.ParseAnyReference(text)
	if err != nil {
		return Reference{}, fmt.Errorf("parse image reference %q: %w", text, err)
	}
	named, isName := parsed.(reference.Named)
	if !isName {
		return Reference{}, fmt.Errorf("parse image reference %q: %w", text, errors.New("reference is an image ID"))
	}
	digested, pinned := named.(reference.Digested)
	if pinned {
		named, err = reference.WithDigest(reference.TrimNamed(named), digested.Digest())
		if err != nil {
			return Reference{}, fmt.Errorf("parse image reference %q: %w", text, err)
		}
	}
	return Reference{
		Name: reference.TagNameOnly(named).String(), Registry: reference.Domain(named), Pinned: pinned, Short: isShort(text),
	}, nil
}

// isShort: a first element is a registry only if it cannot be a folder of one.
func isShort(text string) bool {
	first, _, more := strings.Cut(text, "/")
	return !more || first != localhost && !strings.ContainsAny(first, ".:")
}

// LocalOnly reports whether no registry can have the image.
func (r Reference) LocalOnly() bool { return r.Registry == localhost }
