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

package env_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationStorage: of claims that are refused each has one Event, and the limit holds.
func TestIntegrationStorage(t *testing.T) {
	t.Parallel()
	config := env.StartEmpty(t)
	// Not client-go's own scheme, to which the library's controller adds when it is created.
	api := must.Get(client.New(config, client.Options{Scheme: builders.Scheme(t)}))(t)
	must.Succeed(t, api.Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker", Labels: map[string]string{corev1.LabelHostname: "worker"}},
		Spec:       corev1.NodeSpec{ProviderID: identity.ProviderID("worker")},
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- storage.Run(ctx, config, storage.Options{
			Engine: nodeEngine(t), Recorded: cluster.EngineRecord{Owner: builders.Owner()}, MaxVolumes: 1, Report: func(string, error) {},
		})
	}()
	t.Cleanup(func() {
		cancel()
		must.Succeed(t, <-ended)
	})
	snapshot := &corev1.TypedLocalObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "monday"}
	createClaim(t, api, "restored", func(c *corev1.PersistentVolumeClaim) { c.Spec.DataSource = snapshot })
	createClaim(t, api, "block", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock) })
	createClaim(t, api, "one", nil)
	createClaim(t, api, "other", nil)

	volumes, events := &corev1.PersistentVolumeList{}, &corev1.EventList{}
	must.Eventually(t, time.Minute, "a volume and three refusals", func(ctx context.Context) error {
		err := errors.Join(api.List(ctx, volumes), api.List(ctx, events, client.MatchingFields{"reason": "ProvisioningFailed"}))
		if err == nil && (len(volumes.Items) != 1 || len(events.Items) != 3) {
			err = fmt.Errorf("%d volumes, %d Events", len(volumes.Items), len(events.Items))
		}
		return err
	})
	want := []string{"block", "restored", "one"}
	if volumes.Items[0].Spec.ClaimRef.Name == "one" {
		want[2] = "other"
	}
	var got []string
	for _, event := range events.Items {
		got = append(got, event.InvolvedObject.Name)
		if event.Count != 1 {
			t.Errorf("Event: %+v", event)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused claims: -want +got:\n%s", diff)
	}
}

// nodeEngine has the container of one node.
func nodeEngine(t *testing.T) *simulated.Engine {
	t.Helper()
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	_, err := eng.CreateContainer(t.Context(), engine.Spec{
		Name: "worker", Image: builders.NodeImage, Labels: builders.Owner().ContainerLabels(identity.RoleWorker, "worker"),
	})
	must.Succeed(t, err)
	must.Succeed(t, eng.StartContainer(t.Context(), "worker"))
	eng.HandleExec(func(_ string, command engine.Command) (engine.Output, error) {
		if command.Args[0] == "df" {
			return engine.Output{Stdout: []byte("Avail\n1073741824\n")}, nil
		}
		return engine.Output{}, nil
	})
	return eng
}

// createClaim as the scheduler and the PersistentVolume controller, which do not run, hand it
// to a provisioner.
func createClaim(t *testing.T, api client.Client, name string, change func(*corev1.PersistentVolumeClaim)) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Annotations: map[string]string{
			"volume.kubernetes.io/storage-provisioner": storage.Provisioner,
			"volume.kubernetes.io/selected-node":       "worker",
		}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(storage.ClassName),
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")},
			},
		},
	}
	if change != nil {
		change(claim)
	}
	must.Succeed(t, api.Create(t.Context(), claim))
}
