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
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
)

// loadWorld has a cluster demo of two nodes and a load balancer, and an image app:dev.
func loadWorld(t *testing.T) (*world, *simulatednode.Containerd) {
	t.Helper()
	w := leftoverWorld(t)
	owner := identity.Owner{Namespace: "default", Cluster: "demo", ID: "demo-id"}
	for name, labels := range map[string]map[string]string{
		"demo-b": owner.ContainerLabels(identity.RoleWorker, "demo-b"), "demo-lb": owner.ContainerLabels(identity.RoleLoadBalancer, ""),
	} {
		must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{Name: name, Image: "localhost/capcon/node:v1.36.3", Labels: labels}))(t)
		must.Succeed(t, w.engine.StartContainer(t.Context(), name))
	}
	must.Succeed(t, w.client.Create(t.Context(), &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{Kind: "ContainerCluster", Name: "demo"}},
	}))
	addImage(w.engine, "app:dev", "amd64")
	nodes := &simulatednode.Containerd{}
	w.engine.HandleExec(nodes.Exec)
	return w, nodes
}

func addImage(e *simulated.Engine, tag, architecture string) {
	e.AddImage(engine.Image{Tags: []string{tag}, Architecture: architecture}, map[string][]byte{"app": []byte(tag)})
}

// imagesOf the cluster, which nodes that join later get.
func imagesOf(t *testing.T, w *world) []string {
	t.Helper()
	containerCluster := &infrav1.ContainerCluster{}
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo"}, containerCluster))
	return containerCluster.Spec.Images
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
	mustContain(t, out+errs, "app:dev: copied to 2 of 2 nodes")
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
	if code, out, errs = w.run("load", "demo", "app:dev"); code != 0 {
		t.Errorf("again: code %d", code)
	}
	mustContain(t, out+errs, "app:dev: copied to 0 of 2 nodes; already present in 2")
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
	mustContain(t, out+errs, "localhost/tool:latest: copied to 2 of 2 nodes", "localhost/tool:latest: set imagePullPolicy: IfNotPresent")
	if diff := cmp.Diff([]string{"docker.io/library/app:dev", "localhost/tool:latest"}, nodes.Names("demo-b")); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		before func(w *world, nodes *simulatednode.Containerd)
		errs   []string
	}{
		"Absent": {
			reason: "all images are looked for before a node is changed",
			args:   []string{"load", "demo", "app:dev", "typo:dev"}, errs: []string{`find image "typo:dev" on the engine: not found; build or pull it first`},
		},
		"Architecture": {
			reason: "an image of another architecture would be copied, and its Pods fail",
			args:   []string{"load", "demo", "arm:dev"},
			before: func(w *world, _ *simulatednode.Containerd) { addImage(w.engine, "arm:dev", "arm64") },
			errs:   []string{`image "arm:dev" has architecture arm64, but nodes have amd64; build it with --platform=linux/amd64`},
		},
		"ArchiveArchitecture": {
			reason: "the same holds for an archive",
			args:   []string{"load", "demo", "ARCHIVE"},
			before: func(w *world, _ *simulatednode.Containerd) { addImage(w.engine, "arm:dev", "arm64") },
			errs:   []string{`has architecture arm64, but nodes have amd64`},
		},
		"Digest": {
			reason: "an archive does not keep a digest",
			args:   []string{"load", "demo", "app@sha256:" + strings.Repeat("a", 64)}, errs: []string{"has a digest", "use a tag"},
		},
		"NoFile":     {reason: "a name that ends with .tar is a file", args: []string{"load", "demo", "absent.tar"}, errs: []string{"absent.tar: no such file"}},
		"NoCluster":  {reason: "a cluster that is not there is named", args: []string{"load", "typo", "app:dev"}, errs: []string{"typo"}},
		"NoArgument": {reason: "an image is needed", args: []string{"load", "demo"}, errs: []string{"requires at least 2 arg(s)"}},
		"Broken": {
			reason: "what containerd says is in the error",
			args:   []string{"load", "demo", "app:dev"},
			before: func(_ *world, nodes *simulatednode.Containerd) { nodes.Break("ctr: no space left on device") },
			errs:   []string{"load app:dev into node demo-", "no space left on device"},
		},
		"Stopped": {
			reason: "a node that does not run misses the image",
			args:   []string{"load", "demo", "app:dev"},
			before: func(w *world, _ *simulatednode.Containerd) { w.engine.StopContainer(context.Background(), "demo-b", 0) }, //nolint:errcheck // It runs.
			errs:   []string{"images not loaded into nodes that are not running: demo-b"},
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
	if code, out, errs := w.run("load", "demo", "app:dev"); code != 0 {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	if diff := cmp.Diff([]string{"docker.io/library/app:dev", "localhost/app:dev"}, nodes.Names("demo-a")); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}
