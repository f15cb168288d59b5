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

package nodeimages

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// CopyTo copies the image into a node that does not have it under its name, and reports
// whether it did. Afterwards Pods find it without a registry.
func (s *Source) CopyTo(ctx context.Context, nodes engine.Executor, container string) (copied bool, err error) {
	present, err := imagesOf(ctx, nodes, container)
	if err != nil || present.has(s.desired()) {
		return false, err
	}
	archive, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	// A saved image may have another ID than the engine reported.
	if present.has(s.desired()) {
		return false, nil
	}
	// Unpacked when a container is created from it, by the snapshotter that containerd has
	// been configured with.
	if _, err := ctr(ctx, nodes, container, archive, "import", "--no-unpack", "-"); err != nil {
		return false, fmt.Errorf("import %s: %w", s.Reference, err)
	}
	if present, err = imagesOf(ctx, nodes, container); err != nil {
		return false, err
	}
	return true, present.tag(ctx, nodes, container, s.desired())
}

// Missing returns those of the references that no image of a node has as its name. What is
// no reference is missing too.
func Missing(ctx context.Context, nodes engine.Executor, container string, references []string) ([]string, error) {
	present, err := imagesOf(ctx, nodes, container)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(references), func(reference string) bool {
		name, err := Name(reference)
		return err == nil && present.idOf(name) != ""
	}), nil
}

// nodeImage is an image of a node as crictl lists it.
type nodeImage struct {
	ID       string   `json:"id"`
	RepoTags []string `json:"repoTags"`
}

type nodeImages []nodeImage

func imagesOf(ctx context.Context, nodes engine.Executor, container string) (nodeImages, error) {
	output, err := run(ctx, nodes, container, engine.Command{Args: []string{"crictl", "images", "--output=json"}})
	if err != nil {
		return nil, fmt.Errorf("list images of node: %w", err)
	}
	var list struct {
		Images nodeImages `json:"images"`
	}
	if err := json.Unmarshal(output, &list); err != nil {
		return nil, fmt.Errorf("parse images of node: %w", err)
	}
	return list.Images, nil
}

func (n nodeImages) has(desired nodeImage) bool { return n.idOf(desired.RepoTags[0]) == desired.ID }

// idOf the image of that name; empty = there is none.
func (n nodeImages) idOf(name string) string {
	for _, image := range n {
		if slices.Contains(image.RepoTags, name) {
			return image.ID
		}
	}
	return ""
}

// tag the imported image: Podman saves app:dev as localhost/app:dev.
func (n nodeImages) tag(ctx context.Context, nodes engine.Executor, container string, desired nodeImage) error {
	if n.has(desired) {
		return nil
	}
	name := desired.RepoTags[0]
	at := slices.IndexFunc(n, func(present nodeImage) bool { return present.ID == desired.ID && len(present.RepoTags) > 0 })
	if at < 0 {
		return fmt.Errorf("image %s not found in containerd after import", name)
	}
	if _, err := ctr(ctx, nodes, container, nil, "tag", "--force", n[at].RepoTags[0], name); err != nil {
		return fmt.Errorf("tag image %s: %w", name, err)
	}
	return nil
}

func ctr(ctx context.Context, nodes engine.Executor, container string, stdin io.Reader, args ...string) ([]byte, error) {
	return run(ctx, nodes, container, engine.Command{Args: append([]string{"ctr", "--namespace=k8s.io", "images"}, args...), Stdin: stdin})
}

// run a command, with what it printed in its error.
func run(ctx context.Context, nodes engine.Executor, container string, command engine.Command) ([]byte, error) {
	output, err := nodes.Exec(ctx, container, command)
	if printed := strings.TrimSpace(string(output.Stderr)); err != nil && printed != "" {
		err = fmt.Errorf("%w: %s", err, printed)
	}
	return output.Stdout, err
}
