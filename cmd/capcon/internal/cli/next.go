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

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// printNext writes the kubeconfig and says what to type next.
func (s *session) printNext(ctx context.Context, name string, took time.Duration) error {
	present, err := management.Read(ctx, s.client, namespace, name)
	if err != nil {
		return err
	}
	kubeconfig, err := management.Kubeconfig(ctx, s.client, namespace, name)
	if err != nil {
		return err
	}
	path, err := s.state.WriteKubeconfig(name, kubeconfig)
	if err != nil {
		s.unsaved(err)
		path = ""
	}
	kubectl, err := s.kubectl(ctx, name, path)
	if err != nil {
		return err
	}
	s.say("\nCluster %s is ready after %s.\n\nNext:", name, took.Round(time.Second))
	if plane.IsRemote(s.info) {
		s.say("  %s tunnel    # in another terminal: forwards the ports of the kubeconfig", s.Program)
	}
	s.say("%s", kubectl)
	s.say("  %s status %s", s.Program, name)
	if workers, scalable := present.Workers(); scalable {
		s.say("  %s up %s --workers %d", s.Program, name, workers+1)
	}
	s.say("  %s down %s", s.Program, name)
	return nil
}

// kubectl commands that work on this machine. Where it has no kubectl, the
// one in the node does.
func (s *session) kubectl(ctx context.Context, name, path string) (string, error) {
	export := s.exportKubeconfig(path, name) + "\n"
	if _, err := s.LookPath("kubectl"); err == nil {
		return export + "  kubectl get nodes -o wide\n  kubectl get pods -A", nil
	}
	node, err := s.controlPlaneContainer(ctx, name)
	if err != nil || node == "" {
		return export + "  kubectl get nodes -o wide", err
	}
	inside := fmt.Sprintf("  %s exec %s kubectl --kubeconfig /etc/kubernetes/admin.conf", s.info.Name, node)
	return inside + " get nodes -o wide\n" + inside + " get pods -A\n" +
		"  (or, with kubectl installed: " + strings.TrimSpace(s.exportKubeconfig(path, name)) + ")", nil
}

// controlPlaneContainer is the name of one that runs; empty where none does.
func (s *session) controlPlaneContainer(ctx context.Context, name string) (string, error) {
	containers, err := s.containersOf(ctx, name)
	for _, container := range containers {
		role := identity.Role(container.Labels[identity.LabelRole])
		if role == identity.RoleControlPlane && container.Status == engine.StatusRunning {
			return container.Name, nil
		}
	}
	return "", err
}

// exportKubeconfig is the command that selects a kubeconfig that was saved, or writes one
// that could not be saved.
func (a *app) exportKubeconfig(path, cluster string) string {
	if path == "" {
		return fmt.Sprintf("  %s kubeconfig %s > kubeconfig && export KUBECONFIG=$PWD/kubeconfig", a.Program, cluster)
	}
	return "  export KUBECONFIG=" + shellQuote(path)
}

// shellQuote quotes a word for a POSIX shell, where it needs that.
func shellQuote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
