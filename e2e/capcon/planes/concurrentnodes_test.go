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

package planes_test

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	concurrentCluster = "concurrent-test"
	stockImage        = "localhost/capcon-test/node-stock-layout:v1"
)

// TestConcurrentNodes creates many workers together, of an image laid out as kindest/node: the
// images of Pods are below /var, and the engine copies them into the volume of each node
// while it creates the container, all on one disk. A creation may take longer
// than a reconcile waits for it; it is continued then, and none begins twice.
//
// Environment:
//
//	NODES  how many workers; default 10
func TestConcurrentNodes(t *testing.T) {
	eng := integration.Engine(t)
	workers := capcontest.Number(t, "NODES", 10)
	d := capcontest.Declare(t, eng, concurrentCluster)
	commitStockImage(t, eng)
	d.Machines.Spec.Template.Spec.Image, d.Workers.Spec.Template.Spec.Image = stockImage, stockImage
	d.Deployments[0].Spec.Replicas = ptr.To(int32(workers)) //nolint:gosec // A small number.
	seen := watchContainers(t, eng, concurrentCluster)
	d.Create(t)
	d.ComesUp(t, 1+workers)
	seen.onlyOneEach(t, concurrentCluster, 1+workers)
	for _, container := range capcontest.NodeContainers(t, eng, concurrentCluster) {
		inspected := must.Get(eng.InspectContainer(t.Context(), container.ID))(t)
		disk := must.Get(eng.Exec(t.Context(), container.ID, engine.Command{Args: []string{"du", "-sxm", "/var"}}))(t)
		t.Logf("%s: created in %s, MB below /var: %s", container.Name,
			inspected.StartedAt.Sub(inspected.CreatedAt).Round(100*time.Millisecond), bytes.TrimSpace(disk.Stdout))
	}
	d.Delete(t)
}

// commitStockImage makes the image with the engine's own command, and removes it with the
// test.
func commitStockImage(t *testing.T, eng engine.Host) {
	t.Helper()
	const (
		container = concurrentCluster + "-image"
		// In place of each link to a file outside /var, what it leads to.
		script = `find /var/lib/containerd -type l | while read -r link; do
	target="$(readlink "${link}")"
	rm "${link}"
	cp --archive "${target}" "${link}"
done
rm -r /usr/lib/containerd-preloaded`
	)
	info := must.Get(eng.Info(t.Context()))(t)
	t.Cleanup(func() {
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), info.Name, "rmi", "--force", stockImage).Run()
	})
	capcontest.MustExecute(t, info.Name, "run", "--name", container, "--entrypoint", "bash", capcontest.NodeImage, "-ec", script)
	capcontest.MustExecute(t, info.Name, "commit", "--change", `ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]`, container, stockImage)
	capcontest.MustExecute(t, info.Name, "rm", container)
}
