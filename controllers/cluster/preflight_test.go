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

package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// Limits are evaluated for all machines of all clusters, and a change of the
// host is found without a restart of the manager.
func TestPreflightOfAllMachines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		instances := 100
		host := simulated.New()
		host.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
		host.HandleExec(func(string, engine.Command) (engine.Output, error) {
			text := fmt.Sprintf("== /proc/sys/fs/inotify/max_user_instances\n%d\n", instances)
			return engine.Output{Stdout: []byte(text)}, nil
		})
		w := world.New(t, builders.New())
		w.Cluster.Host = hostinfo.NewObserver(host)
		must.Get(w.Cluster.Host.Observe(t.Context(), builders.NodeImage, ""))(t)
		expect := func(reason, want, words string) {
			t.Helper()
			w.SettleCluster()
			found, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
			state, message := world.State(found, infrav1.PreflightPassedCondition)
			if state != want || !strings.Contains(message, words) {
				t.Errorf("%s Got %s: %q, want %s with %q", reason, state, message, want, words)
			}
		}
		expect("One machine has enough.", "True/"+infrav1.PreflightPassedReason, "")
		for i := range 10 {
			_, machine := builders.MachinePair(fmt.Sprintf("another-%d", i))
			machine.Namespace = "elsewhere"
			must.Succeed(t, w.Client.Create(t.Context(), machine))
		}
		expect("The others use it up.", "False/"+infrav1.PreflightFailedReason, "InotifyInstances (error): fs.inotify.max_user_instances is 100, 11 nodes need")
		instances = 1024
		time.Sleep(time.Minute)
		expect("A user has corrected it.", "True/"+infrav1.PreflightPassedReason, "")
	})
}
