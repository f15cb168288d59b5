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

package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/internal/webhooks"
)

const (
	// faultsKey of the ConfigMap.
	faultsKey = "faults.yaml"
	// faultsInterval is how often the ConfigMap is read: it is seldom changed, and not watched.
	faultsInterval = 2 * time.Second
)

// Setup adds the host, and this provider's controllers and webhooks, to a manager.
func (h *Host) Setup(ctx context.Context, mgr ctrl.Manager, clusterCache clustercache.ClusterCache) error {
	if err := mgr.Add(h); err != nil {
		return fmt.Errorf("add clusters in memory: %w", err)
	}
	if key := h.options.FaultsConfigMap; key.Name != "" {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			followFaults(ctx, mgr.GetAPIReader(), key, h.Faults)
			return nil
		})); err != nil {
			return fmt.Errorf("add faults: %w", err)
		}
	}
	if err := webhooks.Setup(mgr, webhooks.Options{ClusterRules: []webhooks.ClusterRule{Validate}}); err != nil {
		return err
	}
	return controllers.Setup(ctx, mgr, controllers.Options{
		Engine: h.Engine, ClusterCache: clusterCache, AdvertiseAddress: Address,
	})
}

// followFaults sets what the ConfigMap has, until ctx ends. One that is invalid changes nothing.
func followFaults(ctx context.Context, reader client.Reader, key client.ObjectKey, injector *Injector) {
	log := ctrl.LoggerFrom(ctx).WithName("faults").WithValues("configMap", key)
	var last string
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		configMap := &corev1.ConfigMap{}
		if err := reader.Get(ctx, key, configMap); client.IgnoreNotFound(err) != nil {
			log.Error(err, "Failed to read faults")
			return
		}
		text := configMap.Data[faultsKey]
		if text == last {
			return
		}
		last = text
		config, err := ParseFaults(text)
		if err != nil {
			log.Error(err, "Failed to use faults")
			return
		}
		log.Info("Injecting faults", "seed", config.Seed, "rules", len(config.Rules), "struckBefore", injector.Struck())
		injector.Set(config)
	}, faultsInterval)
}

// Validate is a webhooks.ClusterRule: it refuses what a cluster in memory does not have. Its endpoint
// is on the loopback interface, which no node in a container would reach.
func Validate(cluster *infrav1.ContainerCluster, errs field.ErrorList) field.ErrorList {
	const noPods = "clusters in memory run no Pods: "
	spec, path := cluster.Spec, field.NewPath("spec")
	host := path.Child("controlPlaneEndpoint", "host").String()
	errs = slices.DeleteFunc(errs, func(err *field.Error) bool { return err.Field == host && spec.ControlPlaneEndpoint.Host == Address })
	refuse := func(path *field.Path, reason string) { errs = append(errs, field.Forbidden(path, reason)) }
	if spec.Storage.Type != "" && spec.Storage.Type != infrav1.StorageNone {
		refuse(path.Child("storage", "type"), noPods+"no PersistentVolume would be used; set None, or leave it out")
	}
	if spec.ServiceLoadBalancer.Type == infrav1.LoadBalancerHAProxy {
		refuse(path.Child("serviceLoadBalancer", "type"), noPods+"no Service would have a backend; set None")
	}
	if len(spec.Images) > 0 {
		refuse(path.Child("images"), noPods+"nodes have no images; leave it out")
	}
	if len(spec.Registries) > 0 {
		refuse(path.Child("registries"), noPods+"nodes pull no images; leave it out")
	}
	if spec.Resources != (infrav1.RoleResources{}) {
		refuse(path.Child("resources"), "nodes in memory use no resources; leave it out")
	}
	if spec.LoadBalancer.Type == infrav1.LoadBalancerNone {
		refuse(path.Child("loadBalancer", "type"), "only the simulated load balancer leads to API servers in memory; leave it out")
	}
	return errs
}
