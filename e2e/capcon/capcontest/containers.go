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

package capcontest

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// IsLoadBalancer of a control plane.
func IsLoadBalancer(container engine.Container) bool {
	return container.Labels[identity.LabelRole] == string(identity.RoleLoadBalancer)
}

// MustExecute a command of this machine.
func MustExecute(t *testing.T, command ...string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	t.Logf("%s\n%s", strings.Join(command, " "), output)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(command, " "), err)
	}
}

// UnusedVolumes are those that no container has.
func UnusedVolumes(t *testing.T, eng engine.Host) []string {
	t.Helper()
	info := must.Get(eng.Info(t.Context()))(t)
	command := map[string][]string{"docker": {"docker"}, "podman": {"podman", "--remote"}}[info.Name]
	command = append(command, "volume", "ls", "--quiet", "--filter", "dangling=true")
	output, err := exec.CommandContext(t.Context(), command[0], command[1:]...).Output()
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(command, " "), err)
	}
	return strings.Fields(string(output))
}

// ConnectArguments of the engine's command connect a container to its network again, with the addresses that it had.
func ConnectArguments(container engine.Container) []string {
	arguments := []string{"network", "connect"}
	for _, address := range network.Addresses(container, container.Labels[identity.LabelNetwork]) {
		flag := map[network.Family]string{network.IPv4: "--ip", network.IPv6: "--ip6"}[network.FamilyOf(address)]
		arguments = append(arguments, flag, address.String())
	}
	return append(arguments, container.Labels[identity.LabelNetwork], container.Name)
}

// Kubectl of a control plane, with its administrator's kubeconfig.
func Kubectl(ctx context.Context, eng engine.Engine, program *Program, stdin string, args ...string) (string, error) {
	nodes, err := ListNodeContainers(ctx, eng, program.Cluster)
	if err != nil {
		return "", err
	}
	controlPlane := ControlPlaneOf(nodes)
	if controlPlane == "" {
		return "", fmt.Errorf("cluster %s has no control plane", program.Cluster)
	}
	output, err := eng.Exec(ctx, controlPlane, engine.Command{
		Args: append([]string{"kubectl", "--kubeconfig=/etc/kubernetes/admin.conf"}, args...), Stdin: strings.NewReader(stdin),
	})
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, output.Stderr)
	}
	return string(output.Stdout), nil
}

// ControlPlaneOf is the name of the first control plane among nodes; empty where there is none.
func ControlPlaneOf(nodes []engine.Container) string {
	for _, node := range nodes {
		if node.Labels[identity.LabelRole] == string(identity.RoleControlPlane) {
			return node.Name
		}
	}
	return ""
}

// NodeContainers of a cluster.
func NodeContainers(t *testing.T, eng engine.ContainerReader, cluster string) []engine.Container {
	t.Helper()
	containers := must.Get(ListNodeContainers(t.Context(), eng, cluster))(t)
	return containers
}

// ListNodeContainers is NodeContainers for callers that retry.
func ListNodeContainers(ctx context.Context, eng engine.ContainerReader, cluster string) ([]engine.Container, error) {
	containers, err := eng.ListContainers(ctx, map[string]string{identity.LabelCluster: cluster, identity.LabelMachine: ""})
	if err != nil {
		return nil, fmt.Errorf("list containers of nodes: %w", err)
	}
	return containers, nil
}

// LoadBalancerOf a cluster.
func LoadBalancerOf(t *testing.T, eng engine.ContainerReader, cluster string) engine.Container {
	t.Helper()
	found := must.Get(eng.ListContainers(t.Context(), map[string]string{
		identity.LabelCluster: cluster, identity.LabelRole: string(identity.RoleLoadBalancer),
	}))(t)
	if len(found) != 1 {
		t.Fatalf("%d load balancers of cluster %s", len(found), cluster)
	}
	return found[0]
}

// AnyWorker of a cluster.
func AnyWorker(t *testing.T, eng engine.ContainerReader, cluster string) engine.Container {
	t.Helper()
	containers := NodeContainers(t, eng, cluster)
	i := slices.IndexFunc(containers, func(c engine.Container) bool { return c.Labels[identity.LabelRole] == string(identity.RoleWorker) })
	if i < 0 {
		t.Skip("the cluster has no worker")
	}
	return containers[i]
}

// IDs of containers.
func IDs(containers []engine.Container) []string {
	all := make([]string, 0, len(containers))
	for _, container := range containers {
		all = append(all, container.ID)
	}
	return all
}

// NothingLeftSince the engine had these things. They may have gone since, for reasons of
// their owner.
func NothingLeftSince(tb testing.TB, eng engine.Engine, before []string) {
	tb.Helper()
	left := slices.DeleteFunc(Ours(tb, eng), func(thing string) bool { return slices.Contains(before, thing) })
	if len(left) > 0 {
		tb.Errorf("left on the engine: %q", left)
	}
}

// Ours names everything on the engine that this project made.
func Ours(tb testing.TB, eng engine.Engine) []string {
	tb.Helper()
	all := []string{}
	containers := must.Get(eng.ListContainers(tb.Context(), map[string]string{identity.LabelRole: ""}))(tb)
	for _, container := range containers {
		all = append(all, "container "+container.Name)
	}
	for _, name := range []string{network.DefaultName, network.IPv6Name} {
		if _, err := eng.InspectNetwork(tb.Context(), name); err == nil {
			all = append(all, "network "+name)
		} else if engine.IgnoreNotFound(err) != nil {
			tb.Fatal(err)
		}
	}
	volumes := must.Get(eng.ListVolumes(tb.Context(), map[string]string{identity.LabelPlane: ""}))(tb)
	for _, volume := range volumes {
		all = append(all, "volume "+volume.Name)
	}
	return all
}
