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
	"encoding/json"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/permissions"
)

// nothingLeaks looks for the values of all Secrets, and for the token of the
// management plane, in whatever is shown to others: logs, events, conditions,
// labels and annotations, environments and arguments.
func nothingLeaks(t *testing.T, eng engine.Engine, program *capcontest.Program, containers map[string]permissions.Container) {
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.Kubeconfig("--management")))(t)
	secrets := newSecretScanner()
	secrets.Add("the token of the management plane", []byte(config.BearerToken))
	addSecrets(t, secrets, kubernetes.NewForConfigOrDie(config), func(_ corev1.Secret, key string) bool { return key != "format" })
	// Of a workload cluster, the tokens that Nodes join with.
	cluster := program.ConnectCluster()
	addSecrets(t, secrets, cluster, func(secret corev1.Secret, key string) bool {
		return secret.Type != corev1.SecretTypeBootstrapToken || key == "token-secret"
	})
	// What is found where secrets are shows that this looks for them.
	if found := secrets.Find(program.Kubeconfig(program.Cluster)); len(found) == 0 {
		t.Fatal("no secret is found in a kubeconfig")
	}

	texts := map[string][]byte{
		"capcon logs":                 []byte(program.MustOutput("logs", program.Cluster, "--tail", "0")),
		"events of the cluster":       events(t, cluster),
		"log of the management plane": planeLog(t, eng),
		"capcon status":               []byte(program.MustOutput("status", program.Cluster)),
		"labels of networks, volumes": inventory(t, eng),
	}
	for name, container := range containers {
		texts["the engine on container "+name] = container.Inspected
		texts["processes in container "+name] = container.Given
	}
	maps.Copy(texts, shown(t, config))
	size := 0
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		size += len(texts[name])
		if len(bytes.TrimSpace(texts[name])) == 0 {
			t.Errorf("%s is empty", name)
		}
		for _, found := range secrets.Find(texts[name]) {
			t.Errorf("%s: %s", name, found)
		}
	}
	t.Logf("looked for %d values in %d texts of %d bytes", secrets.Len(), len(texts), size)
}

// addSecrets adds the selected data of a cluster's Secrets.
func addSecrets(t *testing.T, scanner *secretScanner, api kubernetes.Interface, selected func(secret corev1.Secret, key string) bool) {
	t.Helper()
	secrets := must.Get(api.CoreV1().Secrets(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{}))(t)
	if len(secrets.Items) == 0 {
		t.Fatal("there are no Secrets")
	}
	for _, secret := range secrets.Items {
		for key, content := range secret.Data {
			if selected(secret, key) {
				scanner.Add("Secret "+secret.Namespace+"/"+secret.Name+", "+key, content)
			}
		}
	}
}

// shown is what every user who may read objects may see of each: metadata and
// status, and all of events.
func shown(t *testing.T, config *rest.Config) map[string][]byte {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	lists := must.Get(discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredResources())(t)
	api := dynamic.NewForConfigOrDie(config)
	found := map[string][]byte{}
	for _, list := range lists {
		version := must.Get(schema.ParseGroupVersion(list.GroupVersion))(t)
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") {
				continue
			}
			objects, err := api.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("list %s: %v", resource.Name, err)
			}
			var text bytes.Buffer
			for _, object := range objects.Items {
				object.SetManagedFields(nil)
				if resource.Kind != "Event" {
					object.Object = map[string]any{"metadata": object.Object["metadata"], "status": object.Object["status"]}
				}
				must.Succeed(t, json.NewEncoder(&text).Encode(object.Object))
			}
			if text.Len() > 0 {
				found["objects "+resource.Name+"."+version.Group] = text.Bytes()
			}
		}
	}
	for _, name := range []string{"machines.cluster.x-k8s.io", "containermachines.infrastructure.cluster.x-k8s.io", "secrets.", "events.events.k8s.io"} {
		if len(found["objects "+name]) == 0 {
			t.Errorf("there are no %s among %q", name, slices.Sorted(maps.Keys(found)))
		}
	}
	return found
}

func events(t *testing.T, api kubernetes.Interface) []byte {
	t.Helper()
	list := must.Get(api.CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{}))(t)
	text := must.Get(json.MarshalIndent(list, "", " "))(t)
	return text
}

func planeLog(t *testing.T, eng engine.Engine) []byte {
	t.Helper()
	var text bytes.Buffer
	must.Succeed(t, eng.ContainerLog(t.Context(), plane.DefaultName, engine.LogRequest{}, &text))
	return text.Bytes()
}

// inventory of networks and volumes, with their labels.
func inventory(t *testing.T, eng engine.Engine) []byte {
	t.Helper()
	networks := must.Get(eng.ListNetworks(t.Context(), nil))(t)
	volumes := must.Get(eng.ListVolumes(t.Context(), nil))(t)
	text := must.Get(json.MarshalIndent([]any{networks, volumes}, "", " "))(t)
	return text
}
