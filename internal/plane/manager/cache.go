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

package manager

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/clusterfilter"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controllers/remote"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	"sigs.k8s.io/cluster-api/util/secret"
)

// cacheOptions keeps the union of what the providers read from their caches.
// Each provider's own options drop what that provider does not need and
// another does: core's blanks the CA secrets that the control plane provider
// reads, the control plane provider's empties worker Machines and leaves out
// worker KubeadmConfigs, the bootstrap provider's empties MachineSets and
// strips the managed fields that core's server-side apply looks at.
func cacheOptions(scheme *runtime.Scheme) (cache.Options, error) {
	hasClusterName, err := labels.Parse(clusterv1.ClusterNameLabel)
	return cache.Options{
		Scheme:     scheme,
		SyncPeriod: syncPeriod(),
		ByObject: map[client.Object]cache.ByObject{
			// Only the secretClient reads Secrets from the cache: the
			// kubeconfigs and certificates of clusters.
			&corev1.Secret{}: {Label: hasClusterName, Transform: dropOtherSecretData},
		},
		NewInformer: capicontroller.NewInformerFunc(scheme, name),
	}, err
}

func dropOtherSecretData(in any) (any, error) {
	if s, ok := in.(*corev1.Secret); ok {
		s.SetManagedFields(nil)
		if !secret.HasPurposeSuffix(s.Name) {
			s.Data = nil
		}
	}
	return in, nil
}

// clientOptions is what all three providers agree on: no cache of the
// cluster's own ConfigMaps and Secrets, nor of the bindings that the machine
// controller resets, nor of the Lease of the heartbeat, and a cache of the objects of other
// providers, which are read as unstructured.
func clientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor:   []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &addonsv1.ClusterResourceSetBinding{}, &coordinationv1.Lease{}},
		Unstructured: true,
	}}
}

// secretClient reads Secrets from the manager's cache.
func secretClient(mgr ctrl.Manager) (client.Client, error) {
	return client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(),
		Cache:      &client.CacheOptions{Reader: mgr.GetCache()},
	})
}

// clusterCacheOptions is the union for workload clusters: whole Nodes with
// the index by provider ID (core), everything read live that any provider
// wants live. Of Pods and ConfigMaps the cache holds only those of controlPlaneEvents, and
// no client reads from it: core lists all Pods of a Node when it drains.
func clusterCacheOptions(secrets client.Reader) clustercache.Options {
	return clustercache.Options{
		SecretClient:  secrets,
		ClusterFilter: clusterfilter.New(),
		Cache: clustercache.CacheOptions{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         controlPlaneObjects(),
			Indexes:          []clustercache.CacheOptionsIndex{clustercache.NodeProviderIDIndex},
		},
		Client: clustercache.ClientOptions{
			// Three providers' shares of the default 20 and 30, and the
			// reads of Pods that the cache does not answer.
			QPS: 100, Burst: 200,
			UserAgent: remote.DefaultClusterAPIUserAgent(name),
			Cache: clustercache.ClientCacheOptions{DisableFor: []client.Object{
				&corev1.ConfigMap{}, &corev1.Secret{},
				&corev1.Pod{}, &appsv1.DaemonSet{}, &appsv1.Deployment{},
				&storagev1.VolumeAttachment{}, &corev1.PersistentVolume{},
			}},
		},
	}
}

// newClusterCache creates the one ClusterCache.
func (p *provider) newClusterCache(ctx context.Context, log logr.Logger) (clustercache.ClusterCache, error) {
	clusters, err := clustercache.SetupWithManager(ctx, p.mgr, clusterCacheOptions(p.secrets), p.concurrently(waiting))
	if err != nil {
		return nil, err
	}
	// Cluster API has no option for this; its implementation has had this
	// method for its own tests since the cache exists.
	if cc, ok := clusters.(interface {
		SetConnectionCreationRetryInterval(time.Duration)
	}); ok {
		cc.SetConnectionCreationRetryInterval(connectionRetry)
	} else {
		log.Info("Cannot shorten the interval at which the cluster cache retries connections; it stays 30s")
	}
	return clusters, nil
}
