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
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestMain(m *testing.M) {
	storage.SealScheme()
	os.Exit(m.Run())
}

// TestSchemeIsNotWritten: the clients of a manager decode while the storage of clusters starts. The
// race detector finds a write to what they read.
func TestSchemeIsNotWritten(t *testing.T) {
	t.Parallel()
	var decoding sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	decoding.Go(func() {
		for ctx.Err() == nil {
			if _, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(`{"apiVersion": "v1", "kind": "Pod"}`), nil, nil); err != nil {
				t.Errorf("decode: %v", err)
				return
			}
		}
	})
	defer decoding.Wait()
	defer cancel()
	for range 2 {
		w := newWorld(t)
		w.options.Report = func(string, error) {}
		w.start(t)
		w.claim(t, "data")
		must.Eventually(t, 10*time.Second, "a volume", func(ctx context.Context) error {
			volumes, err := w.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
			if err == nil && len(volumes.Items) != 1 {
				err = fmt.Errorf("%d volumes", len(volumes.Items))
			}
			return err
		})
	}
}

// TestOtherSchemes get the types that were asked for.
func TestOtherSchemes(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]*runtime.Scheme{"new": runtime.NewScheme(), "client-go's": scheme.Scheme} {
		must.Succeed(t, corev1.AddToScheme(made))
		if !made.Recognizes(corev1.SchemeGroupVersion.WithKind("Pod")) {
			t.Errorf("the %s scheme knows no Pod", name)
		}
	}
}
