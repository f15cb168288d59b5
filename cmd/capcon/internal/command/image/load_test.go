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

package image_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
)

// loadWorld has a cluster demo of two nodes and a load balancer, and an image app:dev.
func loadWorld(t *testing.T) (*commandtest.World, *simulatednode.Containerd) {
	t.Helper()
	w := commandtest.WithNodes(t)
	addImage(w.Engine, "app:dev", "amd64")
	nodes := &simulatednode.Containerd{}
	w.Engine.HandleExec(nodes.Exec)
	return w, nodes
}

func addImage(e *simulated.Engine, tag, architecture string) {
	e.AddImage(engine.Image{Tags: []string{tag}, Architecture: architecture}, map[string][]byte{"app": []byte(tag)})
}

// imagesOf the cluster, which nodes that join later get.
func imagesOf(t *testing.T, w *commandtest.World) []string {
	t.Helper()
	containerCluster := &infrav1.ContainerCluster{}
	w.Get("demo", containerCluster)
	return containerCluster.Spec.Images
}

// archiveOf an image of the engine, as a file.
func archiveOf(t *testing.T, w *commandtest.World, tag string) string {
	t.Helper()
	stream := must.Get(w.Engine.SaveImage(t.Context(), tag))(t)
	file := filepath.Join(t.TempDir(), "image.tar")
	must.Succeed(t, os.WriteFile(file, must.Get(io.ReadAll(stream))(t), 0o600))
	return file
}

func TestLoad(t *testing.T) {
	t.Parallel()
	w, nodes := loadWorld(t)
	commandtest.Contains(t, w.MustRun("load", "demo", "app:dev"), "app:dev: copied to 2 of 2 nodes")
	for _, node := range []string{"demo-a", "demo-b"} {
		if diff := cmp.Diff([]string{"docker.io/library/app:dev"}, nodes.Names(node)); diff != "" {
			t.Errorf("images of %s (-want +got):\n%s", node, diff)
		}
	}
	if names := nodes.Names("demo-lb"); len(names) > 0 {
		t.Errorf("the load balancer, which is no node, got %q", names)
	}
	if diff := cmp.Diff([]string{"app:dev"}, imagesOf(t, w)); diff != "" {
		t.Errorf("images of the ContainerCluster (-want +got):\n%s", diff)
	}
	nodes.Break("nothing has to be copied again")
	commandtest.Contains(t, w.MustRun("load", "demo", "app:dev"), "app:dev: copied to 0 of 2 nodes; already present in 2")
}

// TestLoadArchive: a file has the images of many nodes, by more than one name.
func TestLoadArchive(t *testing.T) {
	t.Parallel()
	w, nodes := loadWorld(t)
	addImage(w.Engine, "localhost/tool:latest", "")
	file := archiveOf(t, w, "localhost/tool:latest")
	commandtest.Contains(t, w.MustRun("load", "demo", file, "app:dev"), "localhost/tool:latest: copied to 2 of 2 nodes", "localhost/tool:latest: set imagePullPolicy: IfNotPresent")
	if diff := cmp.Diff([]string{"docker.io/library/app:dev", "localhost/tool:latest"}, nodes.Names("demo-b")); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

// TestLoadFile: what is a file is decided by its name where that is plain, and by what is
// there otherwise; its content says what it is.
func TestLoadFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, file string
		compressed   bool
	}{
		"Gzip":       {"It is decompressed.", "app.tar.gz", true},
		"ShortGzip":  {"So is it by its other name.", "app.tgz", true},
		"HiddenGzip": {"A name says nothing of the content.", "app.tar", true},
		"Image":      {"Some tools write this name.", "app.img", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, nodes := loadWorld(t)
			addImage(w.Engine, "tool:v1", "amd64")
			content := must.Get(os.ReadFile(archiveOf(t, w, "tool:v1")))(t)
			w.Engine.RemoveImage("tool:v1")
			if tc.compressed {
				var out bytes.Buffer
				writer := gzip.NewWriter(&out)
				must.Get(writer.Write(content))(t)
				must.Succeed(t, writer.Close())
				content = out.Bytes()
			}
			file := filepath.Join(t.TempDir(), tc.file)
			must.Succeed(t, os.WriteFile(file, content, 0o600))
			w.MustRun("load", "demo", file)
			if diff := cmp.Diff([]string{"docker.io/library/tool:v1"}, nodes.Names("demo-a")); diff != "" {
				t.Errorf("%s images (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLoadDropsWhatIsGone: an image that the engine no longer has cannot be copied to a node
// that joins later.
func TestLoadDropsWhatIsGone(t *testing.T) {
	t.Parallel()
	w, _ := loadWorld(t)
	addImage(w.Engine, "app:old", "amd64")
	for _, name := range []string{"app:old", "app:dev"} {
		code, out, errs := w.Run("load", "demo", name)
		if code != 0 {
			t.Fatalf("load %s: code %d: %s%s", name, code, out, errs)
		}
		if name == "app:dev" {
			commandtest.Contains(t, errs, "No longer copied into nodes that join later", "app:old")
		}
		w.Engine.RemoveImage("app:old")
	}
	if diff := cmp.Diff([]string{"app:dev"}, imagesOf(t, w)); diff != "" {
		t.Errorf("images of the ContainerCluster (-want +got):\n%s", diff)
	}
}

// TestLoadRefusesReservedNames: the next "up" would run an image of the archive with the
// engine's socket.
func TestLoadRefusesReservedNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"localhost/capcon/plane:dev", "localhost/capcon/plane:v9.9.9", "capcon/plane:dev", "localhost/capcon/haproxy:2.6",
		"localhost/capcon/node:v1.36.3", "localhost/capcon/registry:3.0.0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := loadWorld(t)
			other := simulated.New()
			other.AddImage(engine.Image{Tags: []string{name}}, map[string][]byte{"evil": nil})
			stream := must.Get(other.SaveImage(t.Context(), name))(t)
			content := must.Get(io.ReadAll(stream))(t)
			// SaveImage gives names in full.
			if strings.HasPrefix(name, "capcon/") {
				content = bytes.ReplaceAll(content, []byte("docker.io/"+name), []byte(name+strings.Repeat(" ", len("docker.io/"))))
				content = bytes.ReplaceAll(content, []byte(name+strings.Repeat(" ", len("docker.io/"))+`"`), []byte(name+`"`+strings.Repeat(" ", len("docker.io/"))))
			}
			file := filepath.Join(t.TempDir(), "x.tar")
			must.Succeed(t, os.WriteFile(file, content, 0o600))
			code, _, errs := w.Run("load", "demo", file)
			if code == 0 {
				t.Error("code 0")
			}
			commandtest.Contains(t, errs, "the name "+name+" is reserved", "images load "+file)
			if calls := slices.ContainsFunc(w.Engine.MutatingCalls(), func(c simulated.Call) bool { return c.Method == "LoadImage" }); calls {
				t.Error("the archive was loaded")
			}
			w.MustRun("images", "load", file)
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		before func(w *commandtest.World, nodes *simulatednode.Containerd)
		errs   []string
	}{
		"Absent": {
			reason: "all images are looked for before a node is changed",
			args:   []string{"load", "demo", "app:dev", "typo:dev"}, errs: []string{`find image "typo:dev" on the engine: not found; build or pull it first`},
		},
		"Architecture": {
			reason: "an image of another architecture would be copied, and its Pods fail",
			args:   []string{"load", "demo", "arm:dev"},
			before: func(w *commandtest.World, _ *simulatednode.Containerd) { addImage(w.Engine, "arm:dev", "arm64") },
			errs:   []string{`image "arm:dev" has architecture arm64, but nodes have amd64; build it with --platform=linux/amd64`},
		},
		"ArchiveArchitecture": {
			reason: "the same holds for an archive",
			args:   []string{"load", "demo", "ARCHIVE"},
			before: func(w *commandtest.World, _ *simulatednode.Containerd) { addImage(w.Engine, "arm:dev", "arm64") },
			errs:   []string{`has architecture arm64, but nodes have amd64`},
		},
		"Digest": {
			reason: "an archive does not keep a digest",
			args:   []string{"load", "demo", "app@sha256:" + strings.Repeat("a", 64)}, errs: []string{"has a digest", "use a tag"},
		},
		"ID": {
			reason: "an archive of an ID has no name",
			args:   []string{"load", "demo", "ID"},
			errs:   []string{"looks like the ID of an image, by which Pods cannot find it; use its tag app:dev"},
		},
		"IDWithoutTag": {
			reason: "there is a way to give it one",
			args:   []string{"load", "demo", "sha256:" + strings.Repeat("a", 64)},
			errs:   []string{"looks like the ID of an image", `"docker tag sha256:aaaa`},
		},
		"NoSpace": {
			reason: "a full disk is noticed before",
			args:   []string{"load", "demo", "huge:dev"},
			before: func(w *commandtest.World, _ *simulatednode.Containerd) {
				w.Engine.AddImage(engine.Image{Tags: []string{"huge:dev"}, SizeBytes: 1 << 60}, nil)
			},
			errs: []string{`save image "huge:dev": it has 1099511627776 MiB`, "MiB free; free some, or set TMPDIR"},
		},
		"NoFile":     {reason: "a name that ends with .tar is a file", args: []string{"load", "demo", "absent.tar"}, errs: []string{"absent.tar: no such file"}},
		"NoCluster":  {reason: "a cluster that is not there is named", args: []string{"load", "typo", "app:dev"}, errs: []string{"typo"}},
		"NoArgument": {reason: "an image is needed", args: []string{"load", "demo"}, errs: []string{"requires at least 2 arg(s)"}},
		"Broken": {
			reason: "what containerd says is in the error",
			args:   []string{"load", "demo", "app:dev"},
			before: func(_ *commandtest.World, nodes *simulatednode.Containerd) {
				nodes.Break("ctr: no space left on device")
			},
			errs: []string{"load app:dev into node demo-", "no space left on device"},
		},
		"Stopped": {
			reason: "a node that does not run misses the image",
			args:   []string{"load", "demo", "app:dev"},
			before: func(w *commandtest.World, _ *simulatednode.Containerd) {
				must.Succeed(w.T, w.Engine.StopContainer(w.T.Context(), "demo-b", 0))
			},
			errs: []string{"images not loaded into nodes that are not running: demo-b"},
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
			if at := slices.Index(tc.args, "ID"); at >= 0 {
				image := must.Get(w.Engine.InspectImage(t.Context(), "app:dev"))(t)
				tc.args[at] = strings.TrimPrefix(image.ID, "sha256:")
			}
			code, out, errs := w.Run(tc.args...)
			if code == 0 {
				t.Errorf("%s: code 0:\n%s", tc.reason, out)
			}
			commandtest.Contains(t, errs, tc.errs...)
			if names := nodes.Names("demo-a"); len(names) > 0 && name != "Stopped" {
				t.Errorf("%s: demo-a got %q", tc.reason, names)
			}
		})
	}
}

// TestLoadNames: Podman saves app:dev under another name than the one that Pods look for.
func TestLoadNames(t *testing.T) {
	t.Parallel()
	w, nodes := loadWorld(t)
	nodes.SaveAs("localhost/")
	w.MustRun("load", "demo", "app:dev")
	if diff := cmp.Diff([]string{"docker.io/library/app:dev", "localhost/app:dev"}, nodes.Names("demo-a")); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

// TestLoadOnEngines: each node gets an image by its engine, which has it for nodes that join later.
func TestLoadOnEngines(t *testing.T) {
	t.Parallel()
	w, build, other := commandtest.Spread(t)
	addImage(w.Engine, "app:dev", "amd64")
	nodes := &simulatednode.Containerd{}
	build.HandleExec(nodes.Exec)
	other.HandleExec(nodes.Exec)
	addImage(build, "app:dev", "amd64") // The same one.
	loads := func(on *simulated.Engine) int {
		return len(slices.DeleteFunc(on.Journal(), func(call simulated.Call) bool { return call.Method != "LoadImage" }))
	}
	commandtest.Contains(t, w.MustRun("load", "demo", "app:dev"), "app:dev: copied to 2 of 2 nodes")
	if _, err := other.InspectImage(t.Context(), "app:dev"); err != nil || loads(build) != 0 || loads(other) != 1 {
		t.Errorf("loaded %d times into an engine that has the image, and %d times into one that does not: %v", loads(build), loads(other), err)
	}
	for _, node := range []string{"demo-a", "demo-b"} {
		if diff := cmp.Diff([]string{"docker.io/library/app:dev"}, nodes.Names(node)); diff != "" {
			t.Errorf("images of %s (-want +got):\n%s", node, diff)
		}
	}
	if diff := cmp.Diff([]string{"app:dev"}, imagesOf(t, w)); diff != "" {
		t.Errorf("images of the ContainerCluster (-want +got):\n%s", diff)
	}
	w.BreakEngine("other", "connection refused")
	commandtest.Contains(t, w.MustFail("load", "demo", "app:dev"), `engine "other": the management plane does not reach it`)
}
