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

package management

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Power is the desired power state of the containers of a cluster.
type Power string

// The states of a cluster.
const (
	PowerOn       Power = ""
	PowerStopping Power = "stopping"
	PowerStopped  Power = "stopped"
	PowerStarting Power = "starting"
)

// PowerOf a Cluster.
func PowerOf(cluster *clusterv1.Cluster) Power {
	_, stopped := cluster.Annotations[infrav1.StoppedAnnotation]
	_, pausedByProvider := cluster.Annotations[infrav1.PausedWhileStoppedAnnotation]
	_, stopBegan := cluster.Annotations[infrav1.StoppingSinceAnnotation]
	switch {
	case stopped && (pausedByProvider || ptr.Deref(cluster.Spec.Paused, false)):
		return PowerStopped
	case stopped:
		return PowerStopping
	case pausedByProvider, stopBegan:
		return PowerStarting
	}
	return PowerOn
}

// ReadPower of a cluster. Absent: a NotFound error of the API.
func ReadPower(ctx context.Context, c client.Client, namespace, name string) (Power, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
		return "", fmt.Errorf("get Cluster %q: %w", name, err)
	}
	return PowerOf(cluster), nil
}

// Stop asks the provider to stop a cluster. Absent: a NotFound error of the API.
func Stop(ctx context.Context, c client.Client, namespace, name string) error {
	return annotate(ctx, c, client.ObjectKey{Namespace: namespace, Name: name}, func(cluster *clusterv1.Cluster) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.StoppedAnnotation, "")
	})
}

// Start asks the provider to start a cluster that is stopped. Absent: a NotFound error of
// the API.
func Start(ctx context.Context, c client.Client, namespace, name string) error {
	return annotate(ctx, c, client.ObjectKey{Namespace: namespace, Name: name}, func(cluster *clusterv1.Cluster) {
		delete(cluster.Annotations, infrav1.StoppedAnnotation)
	})
}

func annotate(ctx context.Context, c client.Client, key client.ObjectKey, change func(*clusterv1.Cluster)) error {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, key, cluster); err != nil {
		return fmt.Errorf("get Cluster %q: %w", key.Name, err)
	}
	before := cluster.DeepCopy()
	change(cluster)
	if maps.Equal(before.Annotations, cluster.Annotations) {
		return nil
	}
	if err := c.Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotate Cluster %q: %w", key.Name, err)
	}
	return nil
}
