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

package quickstart_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	atOnceCluster = "at-once-test"
	// imageBelowVar is a node image that takes long to create a container of.
	imageBelowVar = "localhost/capcon-test/node-below-var:v1"
)

// TestNodesAtOnce creates many workers together, of an image that has its images
// below /var, as kindest/node has: the engine copies them into the volume of each
// node while it creates the container, all on one disk. A creation may take longer
// than a reconcile waits for it; it is continued then, and none begins twice.
//
// Environment:
//
//	NODES  how many workers; default 10
func TestNodesAtOnce(t *testing.T) {
	eng := integration.Engine(t)
	workers := number(t, "NODES", 10)
	d := declare(t, eng, atOnceCluster)
	commitImageBelowVar(t, eng)
	d.workers.Spec.Template.Spec.Image = imageBelowVar
	d.deployments[0].Spec.Replicas = ptr.To(int32(workers)) //nolint:gosec // A small number.
	seen := watchContainers(t, eng, atOnceCluster)
	d.create(t)
	d.comesUp(t, 1+workers)
	seen.onlyOneEach(t, atOnceCluster, 1+workers)
	var longest time.Duration
	for _, container := range nodeContainers(t, eng, atOnceCluster) {
		inspected := must.Get(eng.InspectContainer(t.Context(), container.ID))(t)
		longest = max(longest, inspected.StartedAt.Sub(inspected.CreatedAt))
	}
	t.Logf("the longest creation took %s", longest.Round(100*time.Millisecond))
	d.delete(t)
}

// commitImageBelowVar makes the image with the engine's own command, and removes it
// with the test.
func commitImageBelowVar(t *testing.T, eng engine.Host) {
	t.Helper()
	const container = atOnceCluster + "-image"
	info := must.Get(eng.Info(t.Context()))(t)
	t.Cleanup(func() {
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), info.Name, "rmi", "--force", imageBelowVar).Run()
	})
	mustExecute(t, info.Name, "run", "--name", container, "--entrypoint", "cp", nodeImage, "-a", "/usr/lib/containerd-preloaded", "/var/lib/preloaded")
	mustExecute(t, info.Name, "commit", "--change", `ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]`, container, imageBelowVar)
	mustExecute(t, info.Name, "rm", container)
}
