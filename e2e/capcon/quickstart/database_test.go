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
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// databaseExample is docs/how-to/storage.md's: an etcd with a PersistentVolumeClaim.
const databaseExample = "../../../examples/database.yaml"

// applyExample creates the objects of a file in the cluster.
func applyExample(t *testing.T, program *capcontest.Program, file string) {
	t.Helper()
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.Kubeconfig(program.Cluster)))(t)
	api := must.Get(client.New(config, client.Options{}))(t)
	for _, object := range clusterctl.Decode(t, must.Get(os.ReadFile(file))(t)) {
		object.SetNamespace(metav1.NamespaceDefault)
		must.Succeed(t, api.Create(t.Context(), object))
	}
}

// storeRecord runs the database and stores a record in it.
func storeRecord(t *testing.T, program *capcontest.Program) {
	t.Helper()
	applyExample(t, program, databaseExample)
	cluster := program.ConnectCluster()
	capcontest.Eventually(t, "the record is stored", func(ctx context.Context) (string, error) {
		_, err := askDatabase(ctx, cluster, "put", map[string]string{"key": encoded("who"), "value": encoded("alice")})
		return "", err
	})
}

// recordIsKept: the database has the record of storeRecord.
func recordIsKept(t *testing.T, program *capcontest.Program) {
	t.Helper()
	cluster := program.ConnectCluster()
	capcontest.Eventually(t, "the database answers", func(ctx context.Context) (string, error) {
		answer, err := askDatabase(ctx, cluster, "range", map[string]string{"key": encoded("who")})
		if err != nil {
			return "", err
		}
		var found struct {
			Records []struct {
				Value string `json:"value"`
			} `json:"kvs"`
		}
		must.Succeed(t, json.Unmarshal(answer, &found))
		if len(found.Records) != 1 || found.Records[0].Value != encoded("alice") {
			t.Fatalf("the database has lost its record: %s", answer)
		}
		return "", nil
	})
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// askDatabase through the API server, by etcd's JSON gateway.
func askDatabase(ctx context.Context, cluster kubernetes.Interface, method string, request map[string]string) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	answer, err := cluster.CoreV1().RESTClient().Post().Namespace(metav1.NamespaceDefault).
		Resource("pods").Name("database-0:2379").SubResource("proxy").Suffix("v3", "kv", method).Body(body).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the database: %w", err)
	}
	return answer, nil
}

// volumeIsRemoved with its claim, and its directory with it.
func volumeIsRemoved(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	t.Helper()
	cluster := program.ConnectCluster()
	must.Succeed(t, cluster.AppsV1().StatefulSets("default").Delete(t.Context(), "database", metav1.DeleteOptions{}))
	must.Succeed(t, cluster.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), "data-database-0", metav1.DeleteOptions{}))
	capcontest.Eventually(t, "the volume is removed", func(ctx context.Context) (string, error) {
		volumes, err := cluster.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil || len(volumes.Items) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d volumes are left", len(volumes.Items)), nil
	})
	for _, container := range capcontest.NodeContainers(t, eng, program.Cluster) {
		output := must.Get(eng.Exec(t.Context(), container.Name, engine.Command{
			Args: []string{"ls", "-A", node.VolumePath},
		}))(t)
		if left := strings.TrimSpace(string(output.Stdout)); left != "" {
			t.Errorf("volumes left in container %s: %s", container.Name, left)
		}
	}
}
