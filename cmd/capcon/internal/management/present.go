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
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

// Present is a cluster as it is in the management cluster.
type Present struct {
	// Present is what an update is computed from. Its Cluster is nil where there is none.
	update.Present
	// Exists is false where there is no such Cluster.
	Exists bool
	// Deleting says that the Cluster is being deleted.
	Deleting bool
	// Provisioned says that its network and load balancer have been created.
	Provisioned bool
	// OwnerID of the cluster's containers; empty until it has one.
	OwnerID string
}

// Read what is present of a cluster.
func Read(ctx context.Context, c client.Client, namespace, name string) (Present, error) {
	r := &reader{client: c, namespace: namespace}
	p := Present{}
	p.Cluster = find[clusterv1.Cluster](ctx, r, name)
	if p.Cluster != nil {
		p.Exists, p.Deleting = true, !p.Cluster.DeletionTimestamp.IsZero()
		p.Engine = objects.EngineName(&p.Cluster.Spec.Topology)
		p.Provisioned = ptr.Deref(p.Cluster.Status.Initialization.InfrastructureProvisioned, false)
	}
	if infrastructure := find[infrav1.ContainerCluster](ctx, r, infrastructureName(p.Cluster, name)); infrastructure != nil {
		p.OwnerID, p.Network = infrastructure.Spec.OwnerID, infrastructure.Spec.Network.Name
		p.Engine, p.Engines = infrastructure.Spec.EngineName, infrastructure.Spec.EngineNames
	}
	if p.Exists && r.err == nil {
		r.err = errors.Join(p.readClass(ctx, c), p.readMachines(ctx, c), p.readPodNetwork(ctx, c))
	}
	// The extension of this provider leaves nodes on other engines to be replaced.
	if p.Exists && r.err == nil && p.Engine == "" {
		r.err = p.readExtensions(ctx, c)
	}
	if r.err != nil {
		return Present{}, fmt.Errorf("read cluster %q: %w", name, r.err)
	}
	return p, nil
}

// Workers are how many the Cluster asks for, and whether "capcon up --workers" changes that.
func (p Present) Workers() (count int32, scalable bool) {
	if p.Cluster == nil || len(p.Cluster.Spec.Topology.Workers.MachineDeployments) != 1 {
		return 0, false
	}
	return ptr.Deref(p.Cluster.Spec.Topology.Workers.MachineDeployments[0].Replicas, 1), true
}

// infrastructureName of a cluster that may be gone; what belongs to one of capcon has its
// name.
func infrastructureName(cluster *clusterv1.Cluster, name string) string {
	if cluster == nil {
		return name
	}
	return cmp.Or(cluster.Spec.InfrastructureRef.Name, name)
}

func (p *Present) readClass(ctx context.Context, c client.Client) error {
	key, class := p.Cluster.GetClassKey(), &clusterv1.ClusterClass{}
	if key.Name == "" {
		return nil
	}
	found, err := get(ctx, c, key.Namespace, key.Name, class)
	if found {
		p.Class = class
	}
	return err
}

func (p *Present) readMachines(ctx context.Context, c client.Client) error {
	machines := &clusterv1.MachineList{}
	err := c.List(ctx, machines, client.InNamespace(p.Cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: p.Cluster.Name})
	p.Machines = machines.Items
	return err
}

// inPlaceHooks are what Cluster API calls before it replaces Machines.
func inPlaceHooks() []string { return []string{"CanUpdateMachine", "CanUpdateMachineSet"} }

// readExtensions finds the extensions for in-place updates in the namespace of the cluster. A management cluster without the feature
// gates has no ExtensionConfigs.
func (p *Present) readExtensions(ctx context.Context, c client.Client) error {
	configs := &runtimev1.ExtensionConfigList{}
	if err := c.List(ctx, configs); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("list ExtensionConfigs: %w", err)
	}
	configs.Items = slices.DeleteFunc(configs.Items, func(config runtimev1.ExtensionConfig) bool {
		return !slices.ContainsFunc(config.Status.Handlers, func(handler runtimev1.ExtensionHandler) bool {
			return slices.Contains(inPlaceHooks(), handler.RequestHook.Hook)
		})
	})
	if len(configs.Items) == 0 {
		return nil
	}
	namespace := &corev1.Namespace{}
	if err := c.Get(ctx, client.ObjectKey{Name: p.Cluster.Namespace}, namespace); err != nil {
		return fmt.Errorf("get namespace %q: %w", p.Cluster.Namespace, err)
	}
	for i := range configs.Items {
		selector, err := metav1.LabelSelectorAsSelector(configs.Items[i].Spec.NamespaceSelector)
		if err != nil {
			return fmt.Errorf("read ExtensionConfig %q: %w", configs.Items[i].Name, err)
		}
		if selector.Matches(labels.Set(namespace.Labels)) {
			p.Extensions = append(p.Extensions, configs.Items[i].Name)
		}
	}
	slices.Sort(p.Extensions)
	return nil
}

func (p *Present) readPodNetwork(ctx context.Context, c client.Client) error {
	manifest := &corev1.ConfigMap{}
	_, err := get(ctx, c, p.Cluster.Namespace, objects.CNIName(p.Cluster.Name), manifest)
	for _, text := range manifest.Data {
		p.PodNetwork = text
	}
	left, listErr := unowned(ctx, c, p.Cluster)
	for _, object := range left {
		p.Unowned = append(p.Unowned, kindOf(object)+" "+object.GetName())
	}
	return errors.Join(err, listErr)
}

// unowned are the objects of the Pod network of capcon that the Cluster does not own yet.
func unowned(ctx context.Context, c client.Client, cluster *clusterv1.Cluster) ([]client.Object, error) {
	var found []client.Object
	for _, object := range []client.Object{&corev1.ConfigMap{}, &addonsv1.ClusterResourceSet{}} {
		there, err := get(ctx, c, cluster.Namespace, objects.CNIName(cluster.Name), object)
		if err != nil {
			return nil, err
		}
		owner := objects.OwnerOf(cluster)
		if there && object.GetLabels()[clusterv1.ClusterNameLabel] == cluster.Name && !slices.Contains(object.GetOwnerReferences(), owner) {
			found = append(found, object)
		}
	}
	return found, nil
}

func kindOf(object client.Object) string {
	if _, isConfigMap := object.(*corev1.ConfigMap); isConfigMap {
		return "ConfigMap"
	}
	return "ClusterResourceSet"
}
