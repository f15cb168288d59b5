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

package simulatednode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Containerd is what crictl and ctr do in nodes. Commands that it does not know succeed,
// and are kept.
type Containerd struct {
	mutex  sync.Mutex
	images map[string]map[string]string
	other  []string
	// broken is what ctr prints when it fails; empty = it does not fail.
	broken string
	// saved is the prefix of the names that an imported image has.
	saved string
}

// Break lets ctr print a message and fail.
func (c *Containerd) Break(message string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.broken = message
}

// SaveAs lets imported images have a prefix instead of the registry docker.io, as Podman
// saves them.
func (c *Containerd) SaveAs(prefix string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.saved = prefix
}

// Names of the images that a container has.
func (c *Containerd) Names(container string) []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var names []string
	for name := range c.images[container] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Other commands than those of images, in order.
func (c *Containerd) Other() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.other)
}

// Exec is a handler for the simulated engine.
func (c *Containerd) Exec(container string, command engine.Command) (engine.Output, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.images == nil {
		c.images = map[string]map[string]string{}
	}
	if c.images[container] == nil {
		c.images[container] = map[string]string{}
	}
	present := c.images[container]
	switch line := strings.Join(command.Args, " "); {
	case line == "crictl images --output=json":
		return list(present)
	case !strings.HasPrefix(line, "ctr "):
		c.other = append(c.other, line)
		return engine.Output{}, nil
	case c.broken != "":
		return engine.Output{Stderr: []byte(c.broken)}, &engine.ExitError{Code: 1}
	case line == "ctr --namespace=k8s.io images import --no-unpack -":
		return engine.Output{}, c.load(present, command.Stdin)
	case strings.HasPrefix(line, "ctr --namespace=k8s.io images tag --force "):
		present[command.Args[6]] = present[command.Args[5]]
		return engine.Output{}, nil
	default:
		return engine.Output{}, fmt.Errorf("unknown command %q", line)
	}
}

func list(present map[string]string) (engine.Output, error) {
	type image struct {
		ID       string   `json:"id"`
		RepoTags []string `json:"repoTags"`
	}
	var images []image
	for name, id := range present {
		images = append(images, image{id, []string{name}})
	}
	output, err := json.Marshal(map[string]any{"images": images})
	return engine.Output{Stdout: output}, err
}

// load the images of a docker-archive.
func (c *Containerd) load(present map[string]string, archive io.Reader) error {
	content, err := io.ReadAll(archive)
	if err != nil {
		return err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return err
	}
	image, err := tarball.Image(open, nil)
	if err != nil {
		return err
	}
	id, err := image.ConfigName()
	if err != nil {
		return err
	}
	for _, tag := range manifest[0].RepoTags {
		if c.saved != "" {
			tag = c.saved + strings.TrimPrefix(tag, "docker.io/library/")
		}
		present[tag] = id.String()
	}
	return nil
}
