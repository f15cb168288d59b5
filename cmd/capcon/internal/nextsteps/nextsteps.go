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

// Package nextsteps says what a user types next.
package nextsteps

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// Print writes the kubeconfig and says what to type next, with a cluster that is ready, or
// that only lacks the Pod network which its user installs.
func Print(ctx context.Context, s *session.Session, name string, reached management.Snapshot, took time.Duration) error {
	present, err := management.Read(ctx, s.Client, management.Namespace, name)
	if err != nil {
		return err
	}
	kubeconfig, err := management.Kubeconfig(ctx, s.Client, management.Namespace, name)
	if err != nil {
		return err
	}
	path, err := s.Records.WriteKubeconfig(name, kubeconfig)
	if err != nil {
		s.Records.Unsaved(err)
		path = ""
	}
	kubectl, err := kubectlOf(ctx, s, name, path)
	if err != nil {
		return err
	}
	if reached.PodNetworkPending {
		s.Printf("\nCluster %s is ready after %s, but for its Pod network: %s.", name, took.Round(time.Second), podNetworkOf(present.Cluster))
	} else {
		s.Printf("\nCluster %s is ready after %s.", name, took.Round(time.Second))
	}
	s.Printf("\nNext:")
	if plane.IsRemote(s.Info) {
		s.Printf("  %s tunnel    # in another terminal: forwards the ports of the kubeconfig", s.Program)
	}
	for _, line := range kubectl.lines(reached) {
		s.Printf("%s", line)
	}
	s.Printf("  %s status %s", s.Program, name)
	if workers, scalable := present.Workers(); scalable {
		s.Printf("  %s up %s --workers %d", s.Program, name, workers+1)
	}
	s.Printf("  %s down %s", s.Program, name)
	return nil
}

// kubectlCommands are lines that work on this machine.
type kubectlCommands struct {
	// before the first command, and after the last one; may be empty.
	before, after string
	// command runs kubectl, and apply is it with a manifest of this machine.
	command, apply string
}

// kubectl of this machine. Where it has none, the one in the node does.
func kubectlOf(ctx context.Context, s *session.Session, name, path string) (kubectlCommands, error) {
	export := Export(s.App, path, name)
	here := kubectlCommands{before: export, command: "  kubectl", apply: "  kubectl apply -f MANIFEST"}
	if _, err := s.LookPath("kubectl"); err == nil {
		return here, nil
	}
	node, err := controlPlaneContainer(ctx, s, name)
	if err != nil || node == "" {
		return here, err
	}
	inside := fmt.Sprintf("%s kubectl --kubeconfig /etc/kubernetes/admin.conf", node)
	return kubectlCommands{
		command: fmt.Sprintf("  %s exec %s", s.Info.Name, inside),
		apply:   fmt.Sprintf("  %s exec -i %s apply -f - < MANIFEST", s.Info.Name, inside),
		after:   "  (or, with kubectl installed: " + strings.TrimSpace(export) + ")",
	}, nil
}

// podNetworkOf a cluster that has none says what the user has to know to install it.
func podNetworkOf(cluster *clusterv1.Cluster) string {
	return fmt.Sprintf("--cni none leaves it to you, for Pods in %s; until you install one, Nodes are not Ready and Pods are pending",
		strings.Join(cluster.Spec.ClusterNetwork.Pods.CIDRBlocks, ","))
}

// PodNetworkTrouble says the same in a status.
func PodNetworkTrouble(ctx context.Context, s *session.Session, cluster *clusterv1.Cluster) (management.Trouble, error) {
	path := s.Records.KubeconfigPath(cluster.Name)
	if _, err := os.Stat(path); err != nil {
		path = ""
	}
	kubectl, err := kubectlOf(ctx, s, cluster.Name, path)
	if err != nil {
		return management.Trouble{}, err
	}
	commands := slices.DeleteFunc([]string{strings.TrimSpace(kubectl.before), strings.TrimSpace(kubectl.apply)}, func(line string) bool { return line == "" })
	return management.Trouble{
		Object: "cluster " + cluster.Name, Reason: "PodNetworkPending", Message: podNetworkOf(cluster), MayPass: true,
		Remedy: "install it: " + strings.Join(commands, " && "),
	}, nil
}

// lines say what to do with a cluster; first its Pod network, where that is the user's.
func (k kubectlCommands) lines(reached management.Snapshot) []string {
	lines := []string{k.before}
	if reached.PodNetworkPending {
		lines = append(lines, k.apply+"    # of the Pod network")
	}
	lines = append(lines, k.command+" get nodes -o wide", k.command+" get pods -A", k.after)
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// controlPlaneContainer is the name of one that runs; empty where none does.
func controlPlaneContainer(ctx context.Context, s *session.Session, name string) (string, error) {
	containers, err := s.Records.Containers(ctx, name)
	for _, container := range containers {
		role := identity.Role(container.Labels[identity.LabelRole])
		if role == identity.RoleControlPlane && container.Status == engine.StatusRunning {
			return container.Name, nil
		}
	}
	return "", err
}

// Export is the command that selects a kubeconfig that was saved, or writes one
// that could not be saved.
func Export(a *session.App, path, cluster string) string {
	if path == "" {
		return fmt.Sprintf("  %s kubeconfig %s > kubeconfig && export KUBECONFIG=$PWD/kubeconfig", a.Program, cluster)
	}
	return "  export KUBECONFIG=" + output.ShellQuote(path)
}
