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
	"testing"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestEnsureClass(t *testing.T) {
	t.Parallel()
	const annotation = "storageclass.kubernetes.io/is-default-class"
	class := func(name, provisioner, isDefault string) *storagev1.StorageClass {
		return &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation: isDefault}}, Provisioner: provisioner,
		}
	}
	cases := map[string]struct {
		exists *storagev1.StorageClass
		// want are the classes with their default annotation.
		want   map[string]string
		notice string
	}{
		"none":            {want: map[string]string{"standard": "true"}},
		"another default": {exists: class("nfs", "nfs", "true"), want: map[string]string{"nfs": "true", "standard": "false"}},
		"another":         {exists: class("nfs", "nfs", "false"), want: map[string]string{"nfs": "false", "standard": "true"}},
		"a user's":        {exists: class("fast", storage.Provisioner, "false"), want: map[string]string{"fast": "false"}},
		"standard of another": {
			exists: class("standard", "csi", "false"), want: map[string]string{"standard": "false", "node-local": "true"},
			notice: `StorageClass "standard" has provisioner "csi" and is not changed; volumes of the provider have StorageClass "node-local"`,
		},
		"default standard of another": {
			exists: class("standard", "csi", "true"), want: map[string]string{"standard": "true", "node-local": "false"},
			notice: `StorageClass "standard" has provisioner "csi" and is not changed; volumes of the provider have StorageClass "node-local"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			if tc.exists != nil {
				_, err := client.StorageV1().StorageClasses().Create(t.Context(), tc.exists, metav1.CreateOptions{})
				must.Succeed(t, err)
			}
			for range 2 {
				notice, err := storage.EnsureClass(t.Context(), client, "node-local")
				must.Succeed(t, err)
				if diff := cmp.Diff(tc.notice, notice); diff != "" {
					t.Errorf("notice: -want +got:\n%s", diff)
				}
			}
			got := map[string]string{}
			for _, class := range must.Get(client.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{}))(t).Items {
				got[class.Name] = class.Annotations[annotation]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("classes: -want +got:\n%s", diff)
			}
		})
	}
}
