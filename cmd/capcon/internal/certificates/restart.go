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

package certificates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const etcd = "etcd"

// Components of a control plane of kubeadm, in the order in which they are restarted: the API
// server needs etcd, and the others the API server.
func Components() []string {
	return []string{etcd, "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
}

// CheckKubeadm returns an error where a node has no kubeadm.
func CheckKubeadm(ctx context.Context, containers engine.Executor, container string) error {
	if _, err := run(ctx, containers, container, "kubeadm", "version", "--output=short"); err != nil {
		return fmt.Errorf("run kubeadm in node %s: %w", container, err)
	}
	return nil
}

// Renew the certificates of a control plane node in its files. Neither a container nor a
// process is restarted. Interrupted, it leaves each file old or new.
func Renew(ctx context.Context, containers engine.Executor, container string) error {
	// kubeadm asks the API server for the configuration of the cluster and of the node, for up to
	// a minute each, and uses its defaults where that does not respond.
	const limit = 5 * time.Minute
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := run(limited, containers, container, "kubeadm", "certs", "renew", "all"); err != nil {
		return fmt.Errorf("renew the certificates of node %s: %w", container, err)
	}
	return nil
}

// Restart makes one step towards a node whose components all started after its certificates
// were renewed and are ready, and returns what it waits for; empty = nothing. It can be
// repeated at any time: what is done is decided by what runs.
func Restart(ctx context.Context, containers engine.Executor, node Node) (waiting string, err error) {
	running, err := runningIn(ctx, containers, node.Container)
	if err != nil {
		return "", err
	}
	for _, component := range node.components {
		container, found := running[component]
		if !found {
			return component + " is starting", nil
		}
		if container.started.Before(node.renewed()) {
			// It has the time that the kubelet gives a Pod.
			_, err := run(ctx, containers, node.Container, "crictl", "stop", "--timeout=30", container.id)
			if err != nil {
				return "", fmt.Errorf("stop %s of node %s: %w", component, node.Container, err)
			}
			return "restarting " + component, nil
		}
	}
	ready, err := readyIn(ctx, containers, node.Container)
	if err != nil {
		return "", err
	}
	for _, component := range node.components {
		if !slices.Contains(ready, "containerd://"+running[component].id) {
			return component + " is not ready", nil
		}
	}
	return "", nil
}

// IsIncomplete reports whether a component of a control plane node does not run.
func IsIncomplete(ctx context.Context, containers engine.Executor, node Node) (bool, error) {
	running, err := runningIn(ctx, containers, node.Container)
	return len(running) < len(node.components), err
}

// RestartKubelet starts the components that do not run immediately: it would wait for up to
// five minutes with one that exited repeatedly.
func RestartKubelet(ctx context.Context, containers engine.Executor, container string) error {
	if _, err := run(ctx, containers, container, "systemctl", "restart", "kubelet"); err != nil {
		return fmt.Errorf("restart the kubelet of node %s: %w", container, err)
	}
	return nil
}

// process is the running container of a component.
type process struct {
	id      string
	started time.Time
}

// runningIn are the components that run in a node, by name.
func runningIn(ctx context.Context, containers engine.Executor, container string) (map[string]process, error) {
	output, err := run(ctx, containers, container, "crictl", "ps", "--output=json")
	if err != nil {
		return nil, fmt.Errorf("list containers of node %s: %w", container, err)
	}
	var list struct {
		Containers []struct {
			ID        string            `json:"id"`
			CreatedAt int64             `json:"createdAt,string"`
			Labels    map[string]string `json:"labels"`
		} `json:"containers"`
	}
	if err := json.Unmarshal(output, &list); err != nil {
		return nil, fmt.Errorf("parse containers of node %s: %w", container, err)
	}
	running := map[string]process{}
	for _, each := range list.Containers {
		name := each.Labels["io.kubernetes.container.name"]
		if each.Labels["io.kubernetes.pod.namespace"] == systemNamespace && slices.Contains(Components(), name) {
			running[name] = process{each.ID, time.Unix(0, each.CreatedAt)}
		}
	}
	return running, nil
}

// systemNamespace is that of the static Pods.
const systemNamespace = "kube-system"

// readyIn are the IDs of the ready containers of control planes. An API server that does not
// respond yet has none.
func readyIn(ctx context.Context, containers engine.Executor, container string) ([]string, error) {
	output, err := run(ctx, containers, container, "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "--request-timeout=5s",
		"get", "pods", "--namespace="+systemNamespace, "--selector=tier=control-plane", "--output=json")
	// 1 is kubectl's for all that the API server has to do with.
	if exit := new(engine.ExitError); errors.As(err, &exit) && exit.Code == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Pods in node %s: %w", container, err)
	}
	pods := corev1.PodList{}
	if err := json.Unmarshal(output, &pods); err != nil {
		return nil, fmt.Errorf("parse Pods of node %s: %w", container, err)
	}
	var ready []string
	for _, pod := range pods.Items {
		for _, status := range pod.Status.ContainerStatuses {
			if status.Ready {
				ready = append(ready, status.ContainerID)
			}
		}
	}
	return ready, nil
}

// run a command in a node and return what it printed. Its error has the last line that it
// printed about it.
func run(ctx context.Context, containers engine.Executor, container string, args ...string) ([]byte, error) {
	return runWith(ctx, containers, container, engine.Command{Args: args})
}

func runWith(ctx context.Context, containers engine.Executor, container string, command engine.Command) ([]byte, error) {
	output, err := containers.Exec(ctx, container, command)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(cmp.Or(string(output.Stderr), string(output.Stdout))), "\n")
		if last := lines[len(lines)-1]; last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
	}
	return output.Stdout, err
}
