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

package access_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// brief is the lifetime of a certificate that is replaced before it ends.
const brief = 45 * time.Second

// rotated: the Secret has other certificates, twice, while workers are created. The manager uses them without a restart, and what
// it had before is not used any more when the engine refuses that.
func (s *enginesTest) rotated(t *testing.T) {
	program, second := s.program.At(t), s.host.Connect(t)
	machines, containers := capcontest.Machines(t, program), capcontest.IDs(capcontest.NodeContainers(t, second, enginesCluster))
	var scaling sync.WaitGroup
	var scaled error
	scaling.Go(func() { _, scaled = program.Run(t.Context(), "up", enginesCluster, "--workers", "4") })
	t.Cleanup(scaling.Wait)
	capcontest.Eventually(t, "workers are created", func(ctx context.Context) (string, error) {
		now, err := capcontest.ListMachines(ctx, s.api, enginesCluster)
		if err != nil || len(now) > len(machines) {
			return "", err
		}
		return "no Machine more than before", nil
	})
	ending := s.host.IssueFor("brief", brief)
	issued := time.Now()
	s.rotate(t, ending)
	capcontest.Eventually(t, "containers of the workers are created", func(ctx context.Context) (string, error) {
		now, err := capcontest.ListNodeContainers(ctx, second, enginesCluster)
		if err != nil || len(now) == len(containers)+2 || time.Since(issued) > brief/2 {
			return "", err
		}
		return fmt.Sprintf("%d containers, before %d", len(now), len(containers)), nil
	})
	s.rotate(t, s.host.Issue("rotated"))
	scaling.Wait()
	must.Succeed(t, scaled)
	capcontest.NodesReady(t, program.ConnectCluster(), 5)
	capcontest.Eventually(t, "the engine refuses the certificate that has ended", func(ctx context.Context) (string, error) {
		if err := s.host.Accepts(ctx, ending); err == nil || !strings.Contains(err.Error(), "certificate") {
			return fmt.Sprintf("the response is %v", err), nil
		}
		return "", nil
	})
	s.reachable(t, metav1.ConditionTrue, "")
	s.kept(t, machines, containers)
	program.MustRun("up", enginesCluster, "--workers", "2", "--yes")
	capcontest.NodesReady(t, program.ConnectCluster(), 3)
}

// rotate the credentials of the engine. That its object changes too has them read now, and not within 15 seconds.
func (s *enginesTest) rotate(t *testing.T, to capcontest.Credentials) {
	t.Helper()
	s.replaceCredentials(t, to)
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: secondEngine}
	capcontest.Edit(t, s.api, key, &infrav1.ContainerEngine{}, func(engine *infrav1.ContainerEngine) {
		metav1.SetMetaDataAnnotation(&engine.ObjectMeta, "test.example.org/rotated", time.Now().String())
	})
}
