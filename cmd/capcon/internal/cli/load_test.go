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

package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// containerd of the nodes: the names of images and their IDs, by container.
type containerd struct {
	t      *testing.T
	mu     sync.Mutex
	images map[string]map[string]string
	// broken is what ctr prints when it fails; empty = it does not.
	broken string
}

func (c *containerd) run(container string, command engine.Command) (engine.Output, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := c.images[container]
	if there == nil {
		there = map[string]string{}
		c.images[container] = there
	}
	switch line := strings.Join(command.Args, " "); {
	case line == "crictl images --output=json":
		type image struct {
			ID       string   `json:"id"`
			RepoTags []string `json:"repoTags"`
		}
		var images []image
		for name, id := range there {
			images = append(images, image{id, []string{name}})
		}
		output, err := json.Marshal(map[string]any{"images": images})
		return engine.Output{Stdout: output}, err
	case c.broken != "":
		return engine.Output{Stderr: []byte(c.broken)}, &engine.ExitError{Code: 1}
	case line == "ctr --namespace=k8s.io images import --no-unpack -":
		file := filepath.Join(c.t.TempDir(), "image.tar")
		content := must.Get(io.ReadAll(command.Stdin))(c.t)
		must.Succeed(c.t, os.WriteFile(file, content, 0o600))
		manifest := must.Get(tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) }))(c.t)
		image := must.Get(tarball.ImageFromPath(file, nil))(c.t)
		id := must.Get(image.ConfigName())(c.t)
		for _, tag := range manifest[0].RepoTags {
			there[tag] = id.String()
		}
	case strings.HasPrefix(line, "ctr --namespace=k8s.io images tag --force "):
		there[command.Args[6]] = there[command.Args[5]]
	default:
		c.t.Errorf("unexpected command %q", line)
	}
	return engine.Output{}, nil
}

func (c *containerd) names(container string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.images[container] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// loadWorld has a cluster demo of two nodes and a load balancer, and an image app:dev.
func loadWorld(t *testing.T) (*world, *containerd) {
	t.Helper()
	w := leftoverWorld(t)
	owner := identity.Owner{Namespace: "default", Cluster: "demo", ID: "demo-id"}
	for name, labels := range map[string]map[string]string{
		"demo-b": owner.ContainerLabels(identity.RoleWorker, "demo-b"), "demo-lb": owner.ContainerLabels(identity.RoleLoadBalancer, ""),
	} {
		must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{Name: name, Image: "localhost/capcon/node:v1.36.3", Labels: labels}))(t)
		must.Succeed(t, w.engine.StartContainer(t.Context(), name))
	}
	addImage(w.engine, "app:dev", "amd64")
	nodes := &containerd{t: t, images: map[string]map[string]string{}}
	w.engine.HandleExec(nodes.run)
	return w, nodes
}

func addImage(e *simulated.Engine, tag, architecture string) {
	e.AddImage(engine.Image{Tags: []string{tag}, Architecture: architecture}, map[string][]byte{"app": []byte(tag)})
}

// archiveOf an image of the engine, as a file.
func archiveOf(t *testing.T, w *world, tag string) string {
	t.Helper()
	stream := must.Get(w.engine.SaveImage(t.Context(), tag))(t)
	file := filepath.Join(t.TempDir(), "image.tar")
	must.Succeed(t, os.WriteFile(file, must.Get(io.ReadAll(stream))(t), 0o600))
	return file
}

func TestLoad(t *testing.T) {
	t.Parallel()
	w, nodes := loadWorld(t)
	code, out, errs := w.run("load", "demo", "app:dev")
	if code != 0 {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	mustContain(t, out, "app:dev: copied to 2 of 2 nodes")
	for _, node := range []string{"demo-a", "demo-b"} {
		if diff := cmp.Diff([]string{"docker.io/library/app:dev"}, nodes.names(node)); diff != "" {
			t.Errorf("images of %s (-want +got):\n%s", node, diff)
		}
	}
	if names := nodes.names("demo-lb"); len(names) > 0 {
		t.Errorf("the load balancer, which is no node, got %q", names)
	}
	nodes.broken = "nothing has to be copied again"
	if code, out, _ = w.run("load", "demo", "app:dev"); code != 0 {
		t.Errorf("again: code %d", code)
	}
	mustContain(t, out, "app:dev: copied to 0 of 2 nodes; 2 had it")
}

// TestLoadArchive: a file has the images of many nodes, by more than one name.
func TestLoadArchive(t *testing.T) {
	t.Parallel()
	w, nodes := loadWorld(t)
	addImage(w.engine, "localhost/tool:latest", "")
	file := archiveOf(t, w, "localhost/tool:latest")
	code, out, errs := w.run("load", "demo", file, "app:dev")
	if code != 0 {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	mustContain(t, out, file+": copied to 2 of 2 nodes", "localhost/tool:latest: give Pods imagePullPolicy: IfNotPresent")
	if diff := cmp.Diff([]string{"docker.io/library/app:dev", "localhost/tool:latest"}, nodes.names("demo-b")); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		before func(w *world, nodes *containerd)
		errs   []string
	}{
		"Absent": {
			reason: "all images are looked for before a node is changed",
			args:   []string{"load", "demo", "app:dev", "typo:dev"}, errs: []string{`the engine has no image "typo:dev"; build or pull it first`},
		},
		"Architecture": {
			reason: "an image of another architecture would be copied, and its Pods fail",
			args:   []string{"load", "demo", "arm:dev"},
			before: func(w *world, _ *containerd) { addImage(w.engine, "arm:dev", "arm64") },
			errs:   []string{`image "arm:dev" is for arm64 and the nodes are amd64; build it with --platform=linux/amd64`},
		},
		"ArchiveArchitecture": {
			reason: "the same holds for an archive",
			args:   []string{"load", "demo", "ARCHIVE"},
			before: func(w *world, _ *containerd) { addImage(w.engine, "arm:dev", "arm64") },
			errs:   []string{`image "docker.io/library/arm:dev" is for arm64 and the nodes are amd64`},
		},
		"Digest": {
			reason: "an archive does not keep a digest",
			args:   []string{"load", "demo", "app@sha256:" + strings.Repeat("a", 64)}, errs: []string{"is named by a digest", "give its tag"},
		},
		"NoFile":     {reason: "a name that ends with .tar is a file", args: []string{"load", "demo", "absent.tar"}, errs: []string{"absent.tar: no such file"}},
		"NoCluster":  {reason: "a cluster that is not there is named", args: []string{"load", "typo", "app:dev"}, errs: []string{"typo"}},
		"NoArgument": {reason: "an image is needed", args: []string{"load", "demo"}, errs: []string{"requires at least 2 arg(s)"}},
		"Broken": {
			reason: "what containerd says is in the error",
			args:   []string{"load", "demo", "app:dev"},
			before: func(_ *world, nodes *containerd) { nodes.broken = "ctr: no space left on device" },
			errs:   []string{"load app:dev into node demo-", "no space left on device"},
		},
		"Stopped": {
			reason: "a node that does not run misses the image",
			args:   []string{"load", "demo", "app:dev"},
			before: func(w *world, _ *containerd) { w.engine.StopContainer(context.Background(), "demo-b", 0) }, //nolint:errcheck // It runs.
			errs:   []string{"these nodes do not run, so they did not get the images: demo-b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, nodes := loadWorld(t)
			if tc.before != nil {
				tc.before(w, nodes)
			}
			if at := slices.Index(tc.args, "ARCHIVE"); at >= 0 {
				tc.args[at] = archiveOf(t, w, "arm:dev")
			}
			code, out, errs := w.run(tc.args...)
			if code == 0 {
				t.Errorf("%s: code 0:\n%s", tc.reason, out)
			}
			mustContain(t, errs, tc.errs...)
			if names := nodes.names("demo-a"); len(names) > 0 && name != "Stopped" {
				t.Errorf("%s: demo-a got %q", tc.reason, names)
			}
		})
	}
}

// TestLoadNames: Podman saves app:dev under another name than the one that Pods look for.
func TestLoadNames(t *testing.T) {
	t.Parallel()
	w, nodes := loadWorld(t)
	handler := nodes.run
	w.engine.HandleExec(func(container string, command engine.Command) (engine.Output, error) {
		output, err := handler(container, command)
		if slices.Contains(command.Args, "import") {
			nodes.mu.Lock()
			defer nodes.mu.Unlock()
			there := nodes.images[container]
			there["localhost/app:dev"] = there["docker.io/library/app:dev"]
			delete(there, "docker.io/library/app:dev")
		}
		return output, err
	})
	if code, out, errs := w.run("load", "demo", "app:dev"); code != 0 {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	if diff := cmp.Diff([]string{"docker.io/library/app:dev", "localhost/app:dev"}, nodes.names("demo-a")); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}
