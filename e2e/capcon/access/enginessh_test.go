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
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
)

// overSSH: the engine is reached through SSH from now on. What is there stays; the manager changes the cluster that way, and
// capcon reads its nodes and writes to them.
func (s *enginesTest) overSSH(t *testing.T) {
	program := s.program.At(t)
	machines, containers := capcontest.Machines(t, program), capcontest.IDs(capcontest.NodeContainers(t, s.host.Connect(t), enginesCluster))
	program.MustRun(append([]string{"engine", "add", secondEngine, s.ssh.Endpoint}, s.ssh.Flags()...)...)
	s.api = capcontest.Management(t, program)
	s.reachable(t, metav1.ConditionTrue, "")
	capcontest.MachinesReady(t, program)
	s.kept(t, machines, containers)
	program.MustRun("up", enginesCluster, "--workers", "1", "--yes")
	capcontest.NodesReady(t, program.ConnectCluster(), 2)
	if output := program.MustShow("load", enginesCluster, capcontest.LoadBalancerImage); !strings.Contains(output, "copied to 2 of 2 nodes") {
		t.Errorf("load prints:\n%s", output)
	}
	if log := program.MustRun("logs", enginesCluster, "--tail", "1"); log == "" {
		t.Error("logs prints nothing")
	}
}
