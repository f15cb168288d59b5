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

package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var errUnavailable = errors.New("API server is unavailable")

// start runs the provisioner until the test ends.
func (w *world) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- storage.RunWithClient(ctx, w.client, w.options) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
}

func (w *world) claim(t *testing.T, name string) {
	t.Helper()
	claim := options().PVC
	claim.Name, claim.UID = name, "uid-"+claim.UID
	claim.Spec.StorageClassName = ptr.To(storage.ClassName)
	claim.Annotations["volume.kubernetes.io/selected-node"] = nodeName
	_, err := w.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Create(t.Context(), claim, metav1.CreateOptions{})
	must.Succeed(t, err)
}

// TestRetryAfterOutage: a claim does not wait the minutes of the library's backoff.
func TestRetryAfterOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must.Succeed(t, w.engine.StopContainer(t.Context(), "mine", 0))
	failed := make(chan struct{}, 100)
	w.client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, isCreate := action.(clienttesting.CreateAction)
		if event, isEvent := create.GetObject().(*corev1.Event); isCreate && isEvent && event.Reason == "ProvisioningFailed" {
			failed <- struct{}{}
		}
		return false, nil, nil
	})
	w.options.Report = func(string, error) {}
	w.start(t)
	w.claim(t, "data")
	<-failed
	must.Succeed(t, w.engine.StartContainer(t.Context(), "mine"))
	must.Eventually(t, 10*time.Second, "a volume", func(ctx context.Context) error {
		volumes, err := w.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err == nil && len(volumes.Items) != 1 {
			err = fmt.Errorf("%d volumes", len(volumes.Items))
		}
		return err
	})
}

// TestReport: what keeps storage from starting is reported, and that it runs.
func TestReport(t *testing.T) {
	t.Parallel()
	// It is retried after some seconds, of the bubble's clock.
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		attempts := 0
		w.client.PrependReactor("list", "storageclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
			attempts++
			return attempts == 1, nil, errUnavailable
		})
		reports := make(chan error, 10)
		w.options.Report = func(_ string, err error) { reports <- err }
		w.start(t)
		if err := <-reports; !errors.Is(err, errUnavailable) {
			t.Errorf("reported %v, want %v", err, errUnavailable)
		}
		must.Succeed(t, <-reports)
	})
}
