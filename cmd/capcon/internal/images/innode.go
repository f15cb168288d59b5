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
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// CopyTo copies the images to a node, unless it has them, and reports whether it did.
func (s *Source) CopyTo(ctx context.Context, nodes engine.Executor, container string) (copied bool, err error) {
	there, err := imagesOf(ctx, nodes, container)
	if err != nil || there.have(s.wanted()) {
		return false, err
	}
	archive, err := s.archive(ctx)
	if err != nil {
		return false, err
	}
	// A saved image may have another ID than the engine told.
	if there.have(s.wanted()) {
		return false, nil
	}
	// Unpacked when a container is created of it, by the snapshotter that containerd has
	// been configured with.
	if _, err := ctr(ctx, nodes, container, archive, "import", "--no-unpack", "-"); err != nil {
		return false, fmt.Errorf("import %s: %w", s.Argument, err)
	}
	if there, err = imagesOf(ctx, nodes, container); err != nil {
		return false, err
	}
	return true, there.name(ctx, nodes, container, s.wanted())
}

// nodeImage is one of what crictl lists.
type nodeImage struct {
	ID       string   `json:"id"`
	RepoTags []string `json:"repoTags"`
}

type nodeImages []nodeImage

func imagesOf(ctx context.Context, nodes engine.Executor, container string) (nodeImages, error) {
	output, err := run(ctx, nodes, container, engine.Command{Args: []string{"crictl", "images", "--output=json"}})
	if err != nil {
		return nil, fmt.Errorf("list images of the node: %w", err)
	}
	var list struct {
		Images nodeImages `json:"images"`
	}
	if err := json.Unmarshal(output, &list); err != nil {
		return nil, fmt.Errorf("read the images of the node: %w", err)
	}
	return list.Images, nil
}

// have reports whether all of the images are there by all of their names.
func (n nodeImages) have(wanted []Archived) bool {
	return !slices.ContainsFunc(wanted, func(image Archived) bool {
		return slices.ContainsFunc(image.Tags, func(tag string) bool { return n.idOf(tag) != image.ID })
	})
}

func (n nodeImages) idOf(tag string) string {
	for _, image := range n {
		if slices.Contains(image.RepoTags, tag) {
			return image.ID
		}
	}
	return ""
}

// name gives images the names they lack: Podman saves app:dev as localhost/app:dev.
func (n nodeImages) name(ctx context.Context, nodes engine.Executor, container string, wanted []Archived) error {
	for _, image := range wanted {
		at := slices.IndexFunc(n, func(there nodeImage) bool { return there.ID == image.ID && len(there.RepoTags) > 0 })
		for _, tag := range image.Tags {
			switch {
			case n.idOf(tag) == image.ID:
				continue
			case at < 0:
				return fmt.Errorf("containerd does not list %s after its import", tag)
			}
			if _, err := ctr(ctx, nodes, container, nil, "tag", "--force", n[at].RepoTags[0], tag); err != nil {
				return fmt.Errorf("name image %s: %w", tag, err)
			}
		}
	}
	return nil
}

// ctr runs a command on the images that the kubelet uses.
func ctr(ctx context.Context, nodes engine.Executor, container string, stdin io.Reader, args ...string) ([]byte, error) {
	return run(ctx, nodes, container, engine.Command{Args: append([]string{"ctr", "--namespace=k8s.io", "images"}, args...), Stdin: stdin})
}

// run a command, with what it printed in the error.
func run(ctx context.Context, nodes engine.Executor, container string, command engine.Command) ([]byte, error) {
	output, err := nodes.Exec(ctx, container, command)
	if printed := strings.TrimSpace(string(output.Stderr)); err != nil && printed != "" {
		err = fmt.Errorf("%w: %s", err, printed)
	}
	return output.Stdout, err
}
