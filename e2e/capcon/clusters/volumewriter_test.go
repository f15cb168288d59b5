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

package clusters_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// writer of the database.
type writer struct {
	*capcontest.Declared
	t       *testing.T
	engine  engine.Engine
	command string
	cluster kubernetes.Interface
	// acknowledged is how many records the database has acknowledged: those with smaller keys.
	acknowledged atomic.Int64
}

const databasePod = "database-0"

// start the database and write until the test ends.
func (w *writer) start() {
	w.t.Helper()
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(w.Program.Kubeconfig(volumesCluster)))(w.t)
	api := must.Get(client.New(config, client.Options{}))(w.t)
	for _, object := range clusterctl.Decode(w.t, must.Get(os.ReadFile("../../../examples/database.yaml"))(w.t)) {
		object.SetNamespace(metav1.NamespaceDefault)
		must.Succeed(w.t, api.Create(w.t.Context(), object))
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if w.ask(ctx, "put", map[string]string{"key": encodedKey(w.acknowledged.Load()), "value": encodedKey(w.acknowledged.Load())}, nil) == nil {
				w.acknowledged.Add(1)
			}
		}
	}()
	w.t.Cleanup(func() { cancel(); <-ended })
	w.writes(w.t, "the database runs")
}

func encodedKey(number int64) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%08d", number))
}

// ask the database through the API server, by etcd's JSON gateway.
func (w *writer) ask(ctx context.Context, method string, request, answer any) error {
	const limit = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	raw, err := w.cluster.CoreV1().RESTClient().Post().Namespace(metav1.NamespaceDefault).
		Resource("pods").Name(databasePod+":2379").SubResource("proxy").Suffix("v3", "kv", method).Body(body).DoRaw(ctx)
	if err != nil || answer == nil {
		return err //nolint:wrapcheck // It is repeated.
	}
	return json.Unmarshal(raw, answer) //nolint:wrapcheck // It is repeated.
}

// writes: the database acknowledges further records.
func (w *writer) writes(t *testing.T, what string) {
	t.Helper()
	before, start := w.acknowledged.Load(), time.Now()
	capcontest.Eventually(t, what+", and the database writes", func(ctx context.Context) (string, error) {
		if err := w.oneHasIt(ctx); err != nil {
			t.Fatal(err)
		}
		const enough = 20
		if now := w.acknowledged.Load(); now < before+enough {
			return fmt.Sprintf("%d records were acknowledged", now-before), nil
		}
		return "", nil
	})
	t.Logf("%s: %d records were acknowledged after %s", what, w.acknowledged.Load(), time.Since(start).Round(time.Second/10))
}

// oneHasIt: no two nodes have the volume mounted.
func (w *writer) oneHasIt(ctx context.Context) error {
	volume := w.volume(ctx)
	nodes, err := capcontest.ListNodeContainers(ctx, w.engine, volumesCluster)
	if err != nil {
		return err //nolint:wrapcheck // It says what failed.
	}
	var have []string
	for _, node := range nodes {
		observed, err := clustervolume.Observe(ctx, w.engine, node.Name)
		_, isUsed := observed.Used[volume]
		if err == nil && (isUsed || observed.Bound[volume]) || node.Status == engine.StatusPaused {
			have = append(have, node.Name)
		}
	}
	if volume != "" && len(have) > 1 {
		return fmt.Errorf("%w: %q", errTwoNodes, have)
	}
	return nil
}

var errTwoNodes = errors.New("two nodes have the volume")

// volume of the database; empty until it is bound.
func (w *writer) volume(ctx context.Context) string {
	claim, err := w.cluster.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Get(ctx, "data-"+databasePod, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return claim.Spec.VolumeName
}

// node of the database, with its Machine.
func (w *writer) node(t *testing.T) clusterv1.Machine {
	t.Helper()
	pod := must.Get(w.cluster.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), databasePod, metav1.GetOptions{}))(t)
	for _, machine := range capcontest.Machines(t, w.Program) {
		if machine.Status.NodeRef.Name == pod.Spec.NodeName {
			return machine
		}
	}
	t.Fatalf("no Machine has the Node %s", pod.Spec.NodeName)
	return clusterv1.Machine{}
}

func containerOf(t *testing.T, machine clusterv1.Machine) string {
	t.Helper()
	return must.Get(identity.ParseProviderID(machine.Spec.ProviderID))(t)
}

func (w *writer) cordon(t *testing.T, node string, unschedulable bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, unschedulable)
	must.Get(w.cluster.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
}

// evict the database by force, so that the object of its Pod goes before its processes do.
func (w *writer) evict(t *testing.T) {
	t.Helper()
	must.Succeed(t, w.cluster.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), databasePod, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
}

// waits: the new Pod has an Event with what it waits for, and does not get the volume.
func (w *writer) waits(t *testing.T) {
	t.Helper()
	capcontest.Eventually(t, "the Pod waits", func(ctx context.Context) (string, error) {
		if err := w.oneHasIt(ctx); err != nil {
			t.Fatal(err)
		}
		events, err := w.cluster.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=PersistentVolumeNotBound"})
		if err != nil || len(events.Items) == 0 {
			return "no Event PersistentVolumeNotBound", err
		}
		must.Succeed(t, w.cluster.CoreV1().Events(metav1.NamespaceDefault).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		return "", nil
	})
}
