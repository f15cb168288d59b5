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

// Package clusterfilter keeps connections to workload clusters from outliving their
// API servers.
package clusterfilter

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// New returns a filter that refuses a Cluster once when another one of its name was
// accepted before: the ClusterCache then drops the connection it has.
//
// The ClusterCache knows clusters by their names. When a Cluster is deleted and created
// again before the ClusterCache looks, which waits for a probe of an API server that is
// gone, it keeps the old connection for the 30 seconds until its health check has failed
// often enough. What refuses no longer than once cannot keep a new Cluster from being
// connected, because it is changed many times before it has an API server.
//
// It also refuses a Cluster for as long as it is to be stopped. The ClusterCache would keep the
// connection for almost a minute, and each request of a controller would wait 10 seconds for an
// answer: KubeadmControlPlane makes several when it is deleted.
func New() clustercache.ClusterFilter {
	var mutex sync.Mutex
	accepted := map[client.ObjectKey]types.UID{}
	return func(cluster *clusterv1.Cluster) bool {
		mutex.Lock()
		defer mutex.Unlock()
		key := client.ObjectKeyFromObject(cluster)
		before, found := accepted[key]
		accepted[key] = cluster.UID
		_, stopped := cluster.Annotations[infrav1.StoppedAnnotation]
		return !stopped && (!found || before == cluster.UID)
	}
}
