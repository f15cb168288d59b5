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

// Package management talks to the management cluster: it applies, reads and
// deletes what belongs to a cluster, and says how far the cluster has come.
// The saying is pure: Summarize turns the objects that were read into a
// Snapshot.
package management

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Namespace of the clusters in the management plane. One user has one plane: a second level
// of names would only be typing.
const Namespace = "default"

// FieldOwner of what capcon applies. Fields it never sets belong to users and
// controllers.
const FieldOwner = "capcon"

// Scheme knows every kind that capcon reads and writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	err := errors.Join(
		corev1.AddToScheme(s),
		apiextensionsv1.AddToScheme(s), // the tree of conditions asks for contract versions
		clusterv1.AddToScheme(s),
		bootstrapv1.AddToScheme(s),
		controlplanev1.AddToScheme(s),
		addonsv1.AddToScheme(s),
		runtimev1.AddToScheme(s),
		infrav1.AddToScheme(s),
	)
	if err != nil {
		return nil, fmt.Errorf("create scheme: %w", err)
	}
	return s, nil
}

// requestTimeout bounds each request: a plane that is frozen accepts
// connections and never answers. It ends watches too, which continue with another one.
const requestTimeout = 30 * time.Second

// Connect makes a client of a kubeconfig. It reads without a cache: capcon
// lives shortly and asks for little.
func Connect(kubeconfig []byte) (client.WithWatch, error) {
	s, err := Scheme()
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management plane: %w", err)
	}
	config.UserAgent = FieldOwner
	// One user on one machine: client-side throttling would only delay.
	config.QPS = -1
	config.Timeout = requestTimeout
	c, err := client.NewWithWatch(config, client.Options{Scheme: s})
	if err != nil {
		return nil, fmt.Errorf("connect to the management plane: %w", err)
	}
	return c, nil
}

// Clusters returns all Clusters of the management cluster.
func Clusters(ctx context.Context, c client.Client) ([]clusterv1.Cluster, error) {
	list := &clusterv1.ClusterList{}
	if err := c.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list Clusters: %w", err)
	}
	return list.Items, nil
}

// ContainerClusters returns all of the management cluster.
func ContainerClusters(ctx context.Context, c client.Client) ([]infrav1.ContainerCluster, error) {
	list := &infrav1.ContainerClusterList{}
	if err := c.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list ContainerClusters: %w", err)
	}
	return list.Items, nil
}

// get an object of the management cluster, and whether it is there.
func get(ctx context.Context, c client.Client, namespace, name string, into client.Object) (bool, error) {
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
