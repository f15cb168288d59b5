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

package clusters_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	topologyCluster = "topology-test"

	// The versions of lab/images/kubernetes-previous, lab/images/kubernetes and lab/images/kubernetes-next.
	previousVersion, currentVersion, nextVersion = "v1.35.4", "v1.36.3", "v1.37.2"
)

// TestTopology changes a cluster by its topology: variables of the ClusterClass, and
// another version of Kubernetes. That metadata and taints reach machines that stay, and
// that workers are never newer than control planes, is proven by Cluster API's specs
// "ClusterClass rollout" and "Cluster upgrade".
//
// It needs the node images of both versions (make images-load KUBERNETES_VERSION=...).
//
// Environment:
//
//	NEXT  set: upgrade from the current to the next Kubernetes; default: from the
//	      previous to the current
func TestTopology(t *testing.T) {
	c := &topology{engine: integration.Engine(t), program: capcontest.Build(t, topologyCluster), from: previousVersion, to: currentVersion}
	if os.Getenv("NEXT") != "" {
		c.from, c.to = currentVersion, nextVersion
	}
	before := capcontest.Ours(t, c.engine)
	c.program.DownBeforeAndAfter()
	capcontest.RunSteps(t, []capcontest.Step{
		{Name: "up 1+1", Run: func(t *testing.T) {
			c.program.At(t).MustRun("up", topologyCluster, "--kubernetes-version", c.from, "--control-planes", "1", "--workers", "1")
			c.haveVersion(t, c.from)
		}},
		{Name: "templates report their capacity", Run: c.templatesReport},
		{Name: "variables replace the machines they are about", Run: c.rollsOut},
		{Name: "upgrade", Run: func(t *testing.T) {
			c.program.At(t).MustRun("up", topologyCluster, "--kubernetes-version", c.to, "--yes")
			c.haveVersion(t, c.to)
		}},
		{Name: "down", Run: func(t *testing.T) { c.program.At(t).MustRun("down", topologyCluster) }},
		{Name: "nothing left", Run: func(t *testing.T) { capcontest.NothingLeftSince(t, c.engine, before) }},
	})
}

// topology is a cluster that is changed by its topology.
type topology struct {
	engine  engine.Engine
	program *capcontest.Program
	// from and to are Kubernetes versions.
	from, to string
}

// edit the topology, as a person would.
func (c *topology) edit(t *testing.T, change func(*clusterv1.Topology)) {
	t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: topologyCluster}
	capcontest.Edit(t, capcontest.Management(t, c.program), key, &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { change(&cluster.Spec.Topology) })
}

func (c *topology) templatesReport(t *testing.T) {
	info, err := c.engine.Info(t.Context())
	must.Succeed(t, err)
	templates := &infrav1.ContainerMachineTemplateList{}
	err = capcontest.Management(t, c.program).List(t.Context(), templates, client.MatchingLabels{clusterv1.ClusterNameLabel: topologyCluster})
	if err != nil || len(templates.Items) != 2 {
		t.Fatalf("%d templates, %v", len(templates.Items), err)
	}
	for _, template := range templates.Items {
		cpu, memory := template.Status.Capacity[corev1.ResourceCPU], template.Status.Capacity[corev1.ResourceMemory]
		if cpu.Value() != int64(info.CPUs) || memory.Value() != info.MemoryBytes || string(template.Status.NodeInfo.Architecture) != info.Architecture {
			t.Errorf("%s reports %+v of a host with %d CPUs and %d bytes", template.Name, template.Status, info.CPUs, info.MemoryBytes)
		}
	}
}

// rollsOut: a variable of the API server replaces the control plane, one that
// is overridden for the workers replaces them, and both do what they say.
func (c *topology) rollsOut(t *testing.T) {
	const inNode, onHost = "/mnt/of-the-host", "/etc"
	before := capcontest.IDs(capcontest.NodeContainers(t, c.engine, topologyCluster))
	c.edit(t, func(topology *clusterv1.Topology) {
		topology.Variables = append(topology.Variables, clusterv1.ClusterVariable{
			Name: "podSecurity", Value: apiextensionsv1.JSON{Raw: []byte(`{"enforce":"baseline"}`)},
		})
		topology.Workers.MachineDeployments[0].Variables.Overrides = []clusterv1.ClusterVariable{{
			Name:  "extraMounts",
			Value: apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `[{"containerPath":%q,"hostPath":%q,"readOnly":true}]`, inNode, onHost)},
		}}
	})
	c.settle(t)
	after := capcontest.NodeContainers(t, c.engine, topologyCluster)
	if len(after) != 2 || slices.ContainsFunc(after, func(container engine.Container) bool { return slices.Contains(before, container.ID) }) {
		t.Fatalf("Not all machines were replaced: before %v, after %v", before, capcontest.IDs(after))
	}
	for _, container := range after {
		_, err := c.engine.Exec(t.Context(), container.Name, engine.Command{Args: []string{"test", "-e", inNode + "/hostname"}})
		if isWorker := container.Labels[identity.LabelRole] == string(identity.RoleWorker); isWorker != (err == nil) {
			t.Errorf("Workers alone have the mount; %s: %v", container.Name, err)
		}
	}
	capcontest.NodesReady(t, c.program.ConnectCluster(), 2)
	_, err := c.program.ConnectCluster().CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "privileged"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "a", Image: capcontest.WebtoolImage, SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
		}}},
	}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "baseline") {
		t.Errorf("A privileged Pod breaks the standard baseline; its creation ended with %v", err)
	}
}

// haveVersion waits for one Node of each kind with the version.
func (c *topology) haveVersion(t *testing.T, version string) {
	t.Helper()
	cluster := c.program.ConnectCluster()
	capcontest.NodesReady(t, cluster, 2)
	nodes := must.Get(cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
	for _, node := range nodes.Items {
		if got := node.Status.NodeInfo.KubeletVersion; got != version {
			t.Errorf("the kubelet of %s is %s, want %s", node.Name, got, version)
		}
	}
	server, err := cluster.Discovery().ServerVersion()
	if err != nil || server.GitVersion != version {
		t.Errorf("the API server is %v, want %s: %v", server, version, err)
	}
}

// settle waits until the topology is carried out: everything is up to date and
// nothing is too many.
func (c *topology) settle(t *testing.T) {
	t.Helper()
	c.program.At(t).MustRun("up", topologyCluster)
}
