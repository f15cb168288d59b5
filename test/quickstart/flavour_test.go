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

package quickstart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
)

// startPlane brings up a cluster of one node, and with it the management plane that
// the clusters of a test are declared in, and returns the program about another
// cluster. Both are removed at the test's end.
func startPlane(t *testing.T, cluster string) (other, host *capcon) {
	t.Helper()
	host = build(t, cluster+"-host")
	other = &capcon{t: t, path: host.path, cluster: cluster}
	down := func(ctx context.Context) {
		_, _ = other.run(ctx, "down", other.cluster)
		_, _ = host.run(ctx, "down", host.cluster)
	}
	down(t.Context())
	t.Cleanup(func() {
		if !t.Failed() || os.Getenv("KEEP") == "" {
			down(context.WithoutCancel(t.Context()))
		}
	})
	host.mustRun("up", host.cluster, "--control-planes", "1", "--workers", "0")
	return other, host
}

// variable as clusterctl has them: ${NAME} or ${NAME:=default}.
var variable = regexp.MustCompile(`\$\{(\w+)(:=([^${}]*))?\}`)

// fillIn returns the objects of a file, with its variables filled in; the
// innermost first, because a default may name another one.
func fillIn(t *testing.T, file string, values map[string]string) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for variable.MatchString(text) {
		text = variable.ReplaceAllStringFunc(text, func(use string) string {
			match := variable.FindStringSubmatch(use)
			if value, ok := values[match[1]]; ok {
				return value
			}
			if match[2] == "" {
				t.Fatalf("%s: variable %s is not given", file, match[1])
			}
			return match[3]
		})
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// flavourValues are those of a cluster like another one.
func flavourValues(t *testing.T, program, like *capcon) map[string]string {
	t.Helper()
	api := management(t, like)
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: like.cluster}
	cluster, infrastructure, templates := &clusterv1.Cluster{}, &infrav1.ContainerCluster{}, &infrav1.ContainerMachineTemplateList{}
	err := errors.Join(api.Get(t.Context(), key, cluster), api.Get(t.Context(), key, infrastructure),
		api.List(t.Context(), templates, client.MatchingLabels{clusterv1.ClusterNameLabel: like.cluster}))
	if err != nil || len(templates.Items) == 0 {
		t.Fatalf("read cluster %s: %v, %d templates", like.cluster, err, len(templates.Items))
	}
	return map[string]string{
		"CLUSTER_NAME": program.cluster, "NAMESPACE": metav1.NamespaceDefault,
		"KUBERNETES_VERSION":          machines(t, like)[0].Spec.Version,
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
		"CONTAINER_NETWORK":             infrastructure.Spec.Network.Name,
		"CONTAINER_LOAD_BALANCER_IMAGE": infrastructure.Spec.LoadBalancer.Image,
		"CONTAINER_NODE_IMAGE":          templates.Items[0].Spec.Template.Spec.Image,
		"CONTAINER_POD_CIDR":            cluster.Spec.ClusterNetwork.Pods.CIDRBlocks[0],
		"CONTAINER_SERVICE_CIDR":        cluster.Spec.ClusterNetwork.Services.CIDRBlocks[0],
	}
}

func create(t *testing.T, program *capcon, objects ...*unstructured.Unstructured) {
	t.Helper()
	api := management(t, program)
	for _, object := range objects {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// samePodNetwork puts the Pod network of another cluster into the cluster.
func samePodNetwork(t *testing.T, program, like *capcon) {
	t.Helper()
	for _, kind := range []string{"ConfigMap", "ClusterResourceSet"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(map[string]string{"ConfigMap": "v1", "ClusterResourceSet": "addons.cluster.x-k8s.io/v1beta2"}[kind])
		list.SetKind(kind)
		api := management(t, like)
		err := api.List(t.Context(), list, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{clusterv1.ClusterNameLabel: like.cluster})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%d objects %s of cluster %s: %v", len(list.Items), kind, like.cluster, err)
		}
		text, err := list.Items[0].MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(bytes.ReplaceAll(text, []byte(like.cluster), []byte(program.cluster))); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "ownerReferences", "finalizers", "managedFields"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		unstructured.RemoveNestedField(object.Object, "status")
		create(t, program, object)
	}
}

// registered waits until all Machines, so many, have a Node and are Ready.
func registered(t *testing.T, program *capcon, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Machines with a Node", want), func(context.Context) (string, error) {
		all := machines(t, program)
		state := fmt.Sprintf("%d Machines", len(all))
		have := 0
		for _, machine := range all {
			if machine.Status.NodeRef.IsDefined() {
				have++
				continue
			}
			for _, condition := range machine.Status.Conditions {
				if condition.Type == clusterv1.MachineInfrastructureReadyCondition || condition.Type == clusterv1.MachineNodeReadyCondition {
					state += fmt.Sprintf("; %s: %s: %s", machine.Name, condition.Reason, condition.Message)
				}
			}
		}
		if have == want && len(all) == want {
			return "", nil
		}
		return state, nil
	})
}

// bootstrapOf returns the reason and message of the first condition about a
// bootstrap that is not true, among the ContainerMachines whose name begins so.
func bootstrapOf(t *testing.T, program *capcon, prefix string) (reason, message string, err error) {
	t.Helper()
	list := &infrav1.ContainerMachineList{}
	if err := management(t, program).List(t.Context(), list, client.MatchingLabels{clusterv1.ClusterNameLabel: program.cluster}); err != nil {
		return "", "", err
	}
	for _, machine := range list.Items {
		for _, condition := range machine.Status.Conditions {
			if strings.HasPrefix(machine.Name, prefix) && condition.Type == infrav1.BootstrapCompletedCondition && condition.Status != metav1.ConditionTrue {
				return condition.Reason, condition.Message, nil
			}
		}
	}
	return "", "", nil
}

// secret as Cluster API's contract has them.
func secret(program *capcon, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: program.cluster},
		},
		Type: clusterv1.ClusterSecretType, Data: data,
	}
}
