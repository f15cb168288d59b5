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
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// PodsTalk runs a server on each node and asks all of them from each node, by
// address and by the name of their Service.
func PodsTalk(t *testing.T, eng engine.Engine, program *Program) {
	cluster := program.ConnectCluster()
	nodes := NodeContainers(t, eng, program.Cluster)
	// An archive, and an image of the engine.
	output := LoadWebtool(t, program, LoadBalancerImage)
	if all := fmt.Sprintf("copied to %d of %[1]d nodes", len(nodes)); strings.Count(output, all) != 2 {
		t.Errorf("Want %q of two images in:\n%s", all, output)
	}
	DeployServers(t, cluster)
	servers := WebPods(t, cluster, len(nodes))
	for node := range servers {
		AskFrom(t, cluster, node, servers)
	}
	ServiceAnswers(t, cluster, "servers")
}

// LoadWebtool copies the workload's image, and others, to all nodes.
func LoadWebtool(t *testing.T, program *Program, others ...string) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "webtool.tar")
	must.Succeed(t, os.WriteFile(archive, webtoolArchive(t), 0o600))
	return program.MustShow(append([]string{"load", program.Cluster, archive}, others...)...)
}

// StartPod waits until it runs and returns its name.
func StartPod(t *testing.T, program *Program, image string) string {
	t.Helper()
	pods := program.ConnectCluster().CoreV1().Pods("default")
	created := must.Get(pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []corev1.Container{{Name: "web", Image: image, Args: []string{"serve"}}},
		},
	}, metav1.CreateOptions{}))(t)
	Eventually(t, "the Pod of "+image+" runs", func(ctx context.Context) (string, error) {
		pod, err := pods.Get(ctx, created.Name, metav1.GetOptions{})
		if err != nil || pod.Status.Phase == corev1.PodRunning {
			return "", err
		}
		return fmt.Sprintf("it is %s: %+v", pod.Status.Phase, pod.Status.ContainerStatuses), nil
	})
	return created.Name
}

// Everywhere lets a Pod run on control planes too.
func Everywhere() []corev1.Toleration {
	return []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

// DeployServers runs one server on each node behind a Service of type LoadBalancer.
func DeployServers(t *testing.T, cluster kubernetes.Interface) {
	t.Helper()
	labels := map[string]string{"app": "servers"}
	_, err := cluster.AppsV1().DaemonSets("default").Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "servers"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Tolerations: Everywhere(),
					Containers: []corev1.Container{{
						Name: "server", Image: WebtoolImage, ImagePullPolicy: corev1.PullNever, Args: []string{"serve"},
					}},
				},
			},
		},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	ExposeServers(t, cluster, "servers")
}

// ExposeServers by a Service of type LoadBalancer.
func ExposeServers(t *testing.T, cluster kubernetes.Interface, name string) {
	t.Helper()
	must.Get(cluster.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "servers"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, metav1.CreateOptions{}))(t)
}

// WebPods waits until each node has a server and returns their addresses by
// node.
func WebPods(t *testing.T, cluster kubernetes.Interface, nodes int) map[string]string {
	t.Helper()
	return WebPodsThat(t, cluster, nodes, func(*corev1.Pod) bool { return true })
}

// WebPodsThat are those of which something else is true too.
func WebPodsThat(t *testing.T, cluster kubernetes.Interface, nodes int, count func(*corev1.Pod) bool) map[string]string {
	t.Helper()
	addresses := map[string]string{}
	Eventually(t, "a server on each node", func(ctx context.Context) (string, error) {
		pods, err := cluster.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=servers"})
		if err != nil {
			return "", err
		}
		clear(addresses)
		for _, pod := range pods.Items {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && count(&pod) {
					addresses[pod.Spec.NodeName] = pod.Status.PodIP
				}
			}
		}
		if len(addresses) == nodes {
			return "", nil
		}
		return fmt.Sprintf("%d of %d run", len(addresses), nodes), nil
	})
	return addresses
}

// AskFrom runs a client on a node, which has to succeed: it asks every server
// by its address and one by the Service's name.
func AskFrom(t *testing.T, cluster kubernetes.Interface, node string, servers map[string]string) {
	t.Helper()
	args := []string{"get", "http://servers.default.svc.cluster.local", "http://servers"}
	for _, address := range servers {
		args = append(args, "http://"+net.JoinHostPort(address, "8080"))
	}
	asked := must.Get(cluster.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "ask-from-" + node + "-"},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				NodeName: node, Tolerations: Everywhere(), RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{
					Name: "ask", Image: WebtoolImage, ImagePullPolicy: corev1.PullNever, Args: args,
				}},
			}},
		},
	}, metav1.CreateOptions{}))(t)
	failed := false
	Eventually(t, "answers on node "+node, func(ctx context.Context) (string, error) {
		job, err := cluster.BatchV1().Jobs("default").Get(ctx, asked.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		failed = job.Status.Failed > 0
		if !failed && job.Status.Succeeded == 0 {
			return "client still asks", nil
		}
		return "", nil
	})
	output := podLog(t.Context(), cluster, "job-name="+asked.Name)
	if failed {
		t.Fatalf("client on node %s failed:\n%s", node, output)
	}
	if diff := cmp.Diff(len(args)-1, strings.Count(output, "\n")); diff != "" {
		t.Fatalf("answers on node %s (-want, +got):\n%s", node, diff)
	}
}

// podLog returns what a Pod printed, and how it stands where that is nothing.
func podLog(ctx context.Context, cluster kubernetes.Interface, selector string) string {
	pods, err := cluster.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil || len(pods.Items) == 0 {
		return fmt.Sprintf("no Pod (%v)", err)
	}
	pod := pods.Items[0]
	stream, err := cluster.CoreV1().Pods("default").GetLogs(pod.Name, &corev1.PodLogOptions{}).Stream(ctx)
	if err != nil {
		return err.Error()
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	if err != nil {
		return err.Error()
	}
	if len(text) == 0 {
		return fmt.Sprintf("no output; Pod is %+v", pod.Status)
	}
	return string(text)
}
