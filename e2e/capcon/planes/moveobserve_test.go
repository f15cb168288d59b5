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
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// observe what must be the same after a move.
func (m *move) observe(t *testing.T, at *side) map[string]string {
	t.Helper()
	containerCluster := &infrav1.ContainerCluster{}
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: moveCluster}
	must.Succeed(t, at.api.Get(t.Context(), key, containerCluster))
	owner := identity.Owner{Namespace: key.Namespace, Cluster: key.Name, ID: containerCluster.Spec.OwnerID}
	seen := map[string]string{"owner": owner.ID, "endpoint": fmt.Sprint(containerCluster.Spec.ControlPlaneEndpoint)}
	maps.Copy(seen, m.observeEngine(t, owner))
	secret := &corev1.Secret{}
	must.Succeed(t, at.api.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: moveCluster + "-kubeconfig"}, secret))
	// A hash: what differs is printed.
	seen["secret "+secret.Name] = fmt.Sprintf("%x", sha256.Sum256(secret.Data["value"]))
	seen["host port"] = fmt.Sprint(containerCluster.Spec.LoadBalancer.HostPort)
	nodes := must.Get(m.cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
	for _, node := range nodes.Items {
		seen["node "+node.Name] = string(node.UID) + " " + node.Status.NodeInfo.BootID + " " + node.Spec.ProviderID
	}
	pods := must.Get(m.cluster.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}))(t)
	for _, pod := range pods.Items {
		restarts := 0
		for _, status := range pod.Status.ContainerStatuses {
			restarts += int(status.RestartCount)
		}
		seen["pod "+pod.Name] = fmt.Sprint(pod.UID, " restarted ", restarts)
	}
	return seen
}

// observeEngine distinguishes containers, networks and volumes of the cluster
// from any that would have replaced them.
func (m *move) observeEngine(t *testing.T, owner identity.Owner) map[string]string {
	t.Helper()
	seen := map[string]string{}
	containers := must.Get(m.engine.ListContainers(t.Context(), owner.Labels()))(t)
	for _, listed := range containers {
		container := must.Get(m.engine.InspectContainer(t.Context(), listed.ID))(t)
		seen["container "+container.Name] = fmt.Sprint(container.ID, container.CreatedAt, container.StartedAt, container.Networks, container.Ports)
	}
	managed := map[string]string{identity.LabelManaged: ""}
	networks := must.Get(m.engine.ListNetworks(t.Context(), managed))(t)
	for _, network := range networks {
		seen["network "+network.Name] = network.ID
	}
	volumes := must.Get(m.engine.ListVolumes(t.Context(), managed))(t)
	for _, volume := range volumes {
		seen["volume "+volume.Name] = fmt.Sprint(volume.Labels)
	}
	return seen
}

// changes that the planes say they made on the engine, by plane.
func (m *move) changes(t *testing.T) map[string][]string {
	t.Helper()
	made := map[string][]string{}
	for _, at := range []*side{m.home, m.away} {
		if at == nil {
			continue
		}
		var log bytes.Buffer
		must.Succeed(t, m.engine.ContainerLog(t.Context(), at.name, engine.LogRequest{}, &log))
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "Called the container engine") {
				made[at.name] = append(made[at.name], strings.TrimSpace(line))
			}
		}
	}
	return made
}

// healthy: everything is ready, and says so of this plane's own looking.
func (m *move) healthy(t *testing.T, at *side, machines int) {
	t.Helper()
	capcontest.Eventually(t, "everything ready on "+at.name, func(ctx context.Context) (string, error) {
		containerCluster := &infrav1.ContainerCluster{}
		if err := at.api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: moveCluster}, containerCluster); err != nil {
			return "", err
		}
		if missing := notReady(containerCluster.Status.Conditions); missing != "" {
			return "ContainerCluster is " + missing, nil
		}
		containerMachines, pools := &infrav1.ContainerMachineList{}, &infrav1.ContainerMachinePoolList{}
		found := &clusterv1.MachineList{}
		if err := errors.Join(at.api.List(ctx, containerMachines), at.api.List(ctx, pools), at.api.List(ctx, found)); err != nil {
			return "", err
		}
		if len(pools.Items) != 1 {
			return fmt.Sprintf("%d ContainerMachinePools", len(pools.Items)), nil
		}
		if missing := notReady(pools.Items[0].Status.Conditions); missing != "" {
			return "ContainerMachinePool is " + missing, nil
		}
		for _, machine := range containerMachines.Items {
			if missing := notReady(machine.Status.Conditions); missing != "" {
				return "ContainerMachine " + machine.Name + " is " + missing, nil
			}
		}
		for _, machine := range found.Items {
			if missing := notReady(machine.Status.Conditions); missing != "" {
				return "Machine " + machine.Name + " is " + missing, nil
			}
		}
		if len(found.Items) != machines || len(containerMachines.Items) != machines {
			return fmt.Sprintf("%d Machines and %d ContainerMachines, want %d", len(found.Items), len(containerMachines.Items), machines), nil
		}
		return "", nil
	})
}

// notReady is empty for an object that is ready and not paused.
func notReady(conditions []metav1.Condition) string {
	ready := false
	for _, condition := range conditions {
		switch {
		case condition.Type == clusterv1.PausedCondition && condition.Status == metav1.ConditionTrue:
			return "paused"
		case condition.Type == clusterv1.ReadyCondition && condition.Status == metav1.ConditionTrue:
			ready = true
		case condition.Type == clusterv1.ReadyCondition:
			return condition.Reason + ": " + condition.Message
		}
	}
	if !ready {
		return "not looked at"
	}
	return ""
}

// nothingLeft of any kind that is moved, nor a secret.
func nothingLeft(t *testing.T, at *side) {
	t.Helper()
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	must.Succeed(t, at.api.List(t.Context(), definitions, client.HasLabels{clusterctlv1.ClusterctlLabel}))
	kinds := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Secret")}
	for _, definition := range definitions.Items {
		for _, version := range definition.Spec.Versions {
			if version.Storage {
				kinds = append(kinds, schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind})
			}
		}
	}
	for _, kind := range kinds {
		found := &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(kind)
		must.Succeed(t, at.api.List(t.Context(), found, client.InNamespace(metav1.NamespaceDefault)))
		for _, object := range found.Items {
			t.Errorf("%s still has %s %s", at.name, object.GetKind(), object.GetName())
		}
	}
}
