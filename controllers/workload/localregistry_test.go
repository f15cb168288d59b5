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

package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestLocalRegistry(t *testing.T) {
	t.Parallel()
	mirrors := []infrav1.RegistryMirror{{URL: "http://10.0.0.5:5000"}}
	got := localRegistry([]infrav1.Registry{
		{Host: "docker.io", Mirrors: mirrors}, {Host: "localhost:5000"}, {Host: "localhost:5001", Mirrors: mirrors},
	})
	if diff := cmp.Diff(LocalRegistry{Host: "localhost:5001", Mirror: "10.0.0.5:5000"}, got); diff != "" {
		t.Errorf("the registry of the host has a mirror (-want +got):\n%s", diff)
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	key := client.ObjectKey{Namespace: "kube-public", Name: "local-registry-hosting"}
	registry := LocalRegistry{Host: "localhost:5001", Mirror: "10.0.0.5:5000"}
	content := "host: \"localhost:5001\"\nhostFromContainerRuntime: \"10.0.0.5:5000\"\nhostFromClusterNetwork: \"10.0.0.5:5000\"\n"
	configMap := func(owner, content string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{managedBy: owner}},
			Data:       map[string]string{hostingKey: content},
		}
	}
	cases := map[string]struct {
		reason   string
		before   *corev1.ConfigMap
		registry LocalRegistry
		// want is the content afterwards; empty = no ConfigMap.
		want string
	}{
		"Created":    {"Tools find it.", nil, registry, content},
		"Updated":    {"A new port is published.", configMap(managerName, "old"), registry, content},
		"Deleted":    {"Tools do not push to a registry that is gone.", configMap(managerName, content), LocalRegistry{}, ""},
		"None":       {"Nothing is published.", nil, LocalRegistry{}, ""},
		"OtherOwner": {"What a user published stays.", configMap("tilt", "other"), registry, "other"},
		"OtherStays": {"It is not deleted either.", configMap("tilt", "other"), LocalRegistry{}, "other"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			builder := fake.NewClientBuilder()
			if tc.before != nil {
				builder.WithObjects(tc.before)
			}
			workload := builder.Build()
			must.Succeed(t, publish(t.Context(), workload, tc.registry))
			got := &corev1.ConfigMap{}
			must.Succeed(t, client.IgnoreNotFound(workload.Get(t.Context(), key, got)))
			if diff := cmp.Diff(tc.want, got.Data[hostingKey]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
