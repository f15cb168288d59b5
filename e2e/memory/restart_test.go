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

package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/memory/process"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationRestart: a manager that is started again has none of its containers. Its machines say so, and
// their cluster can be deleted and created again.
func TestIntegrationRestart(t *testing.T) {
	options := processes(t)
	plane := startProcess(t, options)
	s := newStory(t, plane)
	s.createClass()
	must.Succeed(t, s.api.Create(t.Context(), newCluster(name, after)))
	s.isSettled(after, 6)
	must.Succeed(t, plane.Stop())

	s = newStory(t, startProcess(t, options))
	s.eventually("all machines miss their containers", s.containersAreMissed)
	s.deleteCluster()
	must.Succeed(t, s.api.Create(t.Context(), newCluster(name, after)))
	s.isSettled(after, 6)
}

// processes are those of a management plane. It skips where they were not built.
func processes(t *testing.T) process.Options {
	t.Helper()
	programs := os.Getenv("MEMORY_PROGRAMS")
	if programs == "" {
		t.Skip(`needs capcon-plane and capcon-memory: run "make e2e RUN=memory"`)
	}
	return process.Options{
		Program: filepath.Join(programs, "capcon-plane"), Manager: filepath.Join(programs, "capcon-memory"),
		Binaries: os.Getenv("KUBEBUILDER_ASSETS"), Directory: filepath.Join(t.TempDir(), "plane"),
	}
}

func startProcess(t *testing.T, options process.Options) *process.Plane {
	t.Helper()
	plane := must.Get(process.Start(t.Context(), options))(t)
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	return plane
}

// newStory of a plane that runs as processes.
func newStory(t *testing.T, plane *process.Plane) *story {
	t.Helper()
	config := must.Get(clientcmd.BuildConfigFromFlags("", plane.Kubeconfig))(t)
	return &story{t: t, config: config, api: must.Get(client.New(config, client.Options{Scheme: newScheme(t)}))(t)}
}

// containersAreMissed by all machines but those of the pool, which replaces them.
func (s *story) containersAreMissed() error {
	machines := &infrav1.ContainerMachineList{}
	if err := s.api.List(s.t.Context(), machines, client.InNamespace(namespace)); err != nil {
		return err
	}
	missed := 0
	for i := range machines.Items {
		machine := &machines.Items[i]
		if _, pool := machine.Labels[clusterv1.MachinePoolNameLabel]; pool {
			continue
		}
		if reason := conditions.GetReason(machine, infrav1.ContainerReadyCondition); reason != infrav1.ContainerNotFoundReason {
			return fmt.Errorf("ContainerMachine %s: %s", machine.Name, reason)
		}
		missed++
	}
	if missed != 5 {
		return fmt.Errorf("%d containers are missed", missed)
	}
	return nil
}

// isStopped and started again: its containers exit, and no Machine is replaced.
func (s *story) isStopped() {
	s.t.Helper()
	before := s.machines()
	s.editCluster(func(cluster *clusterv1.Cluster) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.StoppedAnnotation, "")
	})
	s.eventually("the cluster is stopped", func() error { return s.stopped(metav1.ConditionTrue, infrav1.StoppedReason) })
	for _, container := range must.Get(s.host.Engine.ListContainers(s.t.Context(), nil))(s.t) {
		if container.Status != engine.StatusExited {
			s.t.Errorf("container %s is %s", container.Name, container.Status)
		}
	}
	s.editCluster(func(cluster *clusterv1.Cluster) { delete(cluster.Annotations, infrav1.StoppedAnnotation) })
	s.eventually("the cluster is started", func() error { return s.stopped(metav1.ConditionFalse, infrav1.StartedReason) })
	s.isSettled(after, len(before))
	for _, machine := range before {
		must.Succeed(s.t, s.api.Get(s.t.Context(), client.ObjectKeyFromObject(&machine), &machine))
	}
}

// stopped is an error unless the condition Stopped is that.
func (s *story) stopped(status metav1.ConditionStatus, reason string) error {
	clusters := &infrav1.ContainerClusterList{}
	if err := s.api.List(s.t.Context(), clusters, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range clusters.Items {
		condition := conditions.Get(&clusters.Items[i], infrav1.StoppedCondition)
		if condition == nil || condition.Status != status || condition.Reason != reason {
			return fmt.Errorf("the condition is %v", condition)
		}
	}
	return nil
}
