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
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/kubeconfig"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// Ready is a cluster that is ready, or that only lacks the Pod network which its user installs.
type Ready struct {
	Cluster string
	Reached management.Snapshot
	Took    time.Duration
	// Kubeconfig of the user gets its context.
	Kubeconfig session.UserKubeconfig
}

// Print writes the kubeconfig and says what to type next. Where the user's kubeconfig cannot be
// written, the commands use the saved one; then it is an error all the same, as for kind: a script
// that continued with kubectl would change another cluster.
func Print(ctx context.Context, s *session.Session, ready Ready) error {
	name := ready.Cluster
	present, err := management.Read(ctx, s.Client, management.Namespace, name)
	if err != nil {
		return err
	}
	path, written, err := Write(ctx, s, name, present.OwnerID, ready.Kubeconfig)
	var unmerged *UnmergedError
	if err != nil && !errors.As(err, &unmerged) {
		return err
	}
	access := kubectlAccess{before: Export(s.App, path, name), command: "kubectl"}
	if unmerged == nil {
		access = kubectlAccess{command: kubectlWith(written, ready.Kubeconfig)}
	}
	kubectl, err := kubectlOf(ctx, s, name, access)
	if err != nil {
		return err
	}
	if ready.Reached.PodNetworkPending {
		s.Printf("\nCluster %s is ready after %s, but for its Pod network: %s.", name, ready.Took.Round(time.Second), podNetworkOf(present.Cluster))
	} else {
		s.Printf("\nCluster %s is ready after %s.", name, ready.Took.Round(time.Second))
	}
	PrintWritten(s.App, written)
	s.Printf("\nNext:")
	if plane.IsRemote(s.Info) || s.InMemory {
		s.Printf("  %s tunnel    # in another terminal: forwards the ports of the kubeconfig", s.Program)
	}
	for _, line := range kubectl.lines(ready.Reached) {
		s.Printf("%s", line)
	}
	s.Printf("  %s status %s", s.Program, name)
	if workers, scalable := present.Workers(); scalable {
		s.Printf("  %s up %s --workers %d", s.Program, name, workers+1)
	}
	s.Printf("  %s down %s", s.Program, name)
	if unmerged != nil {
		return unmerged
	}
	return nil
}

// UnmergedError says that a cluster is ready, but that its context could not be merged into the
// user's kubeconfig.
type UnmergedError struct {
	cluster, program string
	err              error
}

// Error implements error.
func (e *UnmergedError) Error() string {
	return fmt.Sprintf("cluster %q is ready, but kubectl has no context for it: %v\nThen run \"%s kubeconfig %s --merge\"",
		e.cluster, e.err, e.program, e.cluster)
}

// Unwrap returns the cause.
func (e *UnmergedError) Unwrap() error { return e.err }

// Write the kubeconfig of a cluster: the saved one, whose path is empty where it could not be
// written, and the user's.
func Write(ctx context.Context, s *session.Session, name, ownerID string, user session.UserKubeconfig) (
	path string, written kubeconfig.Written, err error,
) {
	content, err := management.Kubeconfig(ctx, s.Client, management.Namespace, name)
	if err != nil {
		return "", written, err
	}
	path, err = s.Records.WriteKubeconfig(name, content)
	if err != nil {
		s.Records.Unsaved(err)
		path = ""
	}
	if written, err = s.MergeUserKubeconfig(ctx, user, name, ownerID, content); err != nil {
		return path, written, &UnmergedError{cluster: name, program: s.Program, err: err}
	}
	return path, written, nil
}

// PrintWritten says which context leads to the cluster; nothing where none was written.
func PrintWritten(a *session.App, written kubeconfig.Written) {
	switch {
	case written.Current:
		a.Printf("The current context of kubectl is %s, in %s.", written.Context, written.Path)
	case written.Context != "":
		a.Printf("Its context of kubectl is %s, in %s.", written.Context, written.Path)
	}
}

// kubectlWith the flags that lead to a context.
func kubectlWith(written kubeconfig.Written, user session.UserKubeconfig) string {
	command := "kubectl"
	if user.File != "" {
		command += " --kubeconfig " + output.ShellQuote(user.File)
	}
	if !written.Current {
		command += " --context " + written.Context
	}
	return command
}

// kubectlAccess is how kubectl on this machine reaches a cluster.
type kubectlAccess struct {
	// before the first command; may be empty.
	before string
	// command is kubectl with its flags.
	command string
}

// kubectlCommands are lines that work on this machine.
type kubectlCommands struct {
	// before the first command, and after the last one; may be empty.
	before, after string
	// command runs kubectl, and apply is it with a manifest of this machine.
	command, apply string
}

// kubectl of this machine. Where it has none, the one in the node does.
func kubectlOf(ctx context.Context, s *session.Session, name string, access kubectlAccess) (kubectlCommands, error) {
	here := kubectlCommands{before: access.before, command: "  " + access.command, apply: "  " + access.command + " apply -f MANIFEST"}
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
		after:   "  (or, with kubectl installed: " + cmp.Or(strings.TrimSpace(access.before), access.command+" get nodes") + ")",
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
	kubectl, err := kubectlOf(ctx, s, cluster.Name, kubectlAccess{before: Export(s.App, path, cluster.Name), command: "kubectl"})
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
