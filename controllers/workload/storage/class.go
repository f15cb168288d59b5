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

package storage

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// ensureClass creates the StorageClass, unless one with this provisioner exists: users may
// change or replace it. It is the default class unless the cluster has another default.
//
// A StorageClass of another provisioner stays. If it has the name, ours gets another one, of
// which notice informs.
func ensureClass(ctx context.Context, client kubernetes.Interface, otherName string) (notice string, _ error) {
	classes, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("list StorageClasses: %w", err)
	}
	provisioners, ours, hasDefault := map[string]string{}, "", false
	for _, class := range classes.Items {
		provisioners[class.Name] = class.Provisioner
		hasDefault = hasDefault || class.Annotations[defaultClassAnnotation] == "true"
		if class.Provisioner == Provisioner {
			ours = class.Name
		}
	}
	standard, exists := provisioners[ClassName]
	isForeign := exists && standard != Provisioner
	if ours == "" {
		ours = ClassName
		if isForeign {
			ours = otherName
		}
		if err := createClass(ctx, client, ours, !hasDefault); err != nil {
			return "", err
		}
	}
	if isForeign {
		notice = fmt.Sprintf("StorageClass %q has provisioner %q and is not changed; volumes of the provider have StorageClass %q", ClassName, standard, ours)
	}
	return notice, nil
}

func createClass(ctx context.Context, client kubernetes.Interface, name string, isDefault bool) error {
	_, err := client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{defaultClassAnnotation: strconv.FormatBool(isDefault)},
		},
		Provisioner:       Provisioner,
		ReclaimPolicy:     ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create StorageClass %q: %w", name, err)
	}
	return nil
}
