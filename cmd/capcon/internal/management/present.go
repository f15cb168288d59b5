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
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// Present is what a cluster has now.
type Present struct {
	// Exists is false where there is no such Cluster; the rest is then what
	// an earlier attempt may have left.
	Exists bool
	// Deleting says that the Cluster is being deleted.
	Deleting bool
	// OwnerID of the cluster's containers; empty until it has one.
	OwnerID string
	// WithoutCNI says that the Pod network was left to the user.
	WithoutCNI bool
	// Values as they are; zero where the object that holds them is missing.
	objects.Values
	// HasControlPlane and HasWorkers say whether the counts are known.
	HasControlPlane, HasWorkers bool
}

// Read what a cluster has now.
func Read(ctx context.Context, c client.Client, namespace, name string) (Present, error) {
	r := &reader{client: c, namespace: namespace}
	p := Present{Values: objects.Values{Namespace: namespace, Name: name}}
	if cluster := find[clusterv1.Cluster](ctx, r, name); cluster != nil {
		r.err = p.readCluster(cluster)
	}
	if infrastructure := find[infrav1.ContainerCluster](ctx, r, name); infrastructure != nil {
		p.OwnerID = infrastructure.OwnerID()
		p.Network = cmp.Or(infrastructure.Spec.Network.Name, p.Network)
		p.LoadBalancerImage = cmp.Or(p.LoadBalancerImage, infrastructure.Spec.LoadBalancer.Image)
	}
	if p.WithoutClass {
		p.readWithoutClass(ctx, r)
	}
	if manifest := find[corev1.ConfigMap](ctx, r, objects.CNIName(name)); manifest != nil {
		for _, text := range manifest.Data {
			p.CNIManifest = text
		}
	}
	if r.err != nil {
		return Present{}, fmt.Errorf("read cluster %q: %w", name, r.err)
	}
	return p, nil
}

func (p *Present) readCluster(cluster *clusterv1.Cluster) error {
	p.Exists, p.Deleting = true, !cluster.DeletionTimestamp.IsZero()
	_, p.WithoutCNI = cluster.Annotations[objects.NoCNIAnnotation]
	p.PodCIDR = cluster.Spec.ClusterNetwork.Pods.String()
	p.ServiceCIDR = cluster.Spec.ClusterNetwork.Services.String()
	if p.WithoutClass = !cluster.Spec.Topology.IsDefined(); p.WithoutClass {
		return nil
	}
	return p.readTopology(cluster.Spec.Topology)
}

// readTopology, and not what Cluster API makes of it: that may be on its way.
func (p *Present) readTopology(topology clusterv1.Topology) error {
	p.Class, p.KubernetesVersion = topology.ClassRef.Name, topology.Version
	p.HasControlPlane, p.ControlPlanes = true, ptr.Deref(topology.ControlPlane.Replicas, 1)
	for _, workers := range topology.Workers.MachineDeployments {
		if objects.WorkersName(p.Name) == p.Name+"-"+workers.Name {
			p.HasWorkers, p.Workers = true, ptr.Deref(workers.Replicas, 1)
		}
	}
	var network infrav1.Network
	var loadBalancer infrav1.LoadBalancerTemplate
	into := map[string]any{
		objects.NodeImagesVariable: &p.NodeImages, objects.NetworkVariable: &network, objects.LoadBalancerVariable: &loadBalancer,
		objects.ResourcesVariable: &p.Resources, objects.EnvironmentVariable: &p.Environment,
		objects.SchedulingVariable: &p.AllowSchedulingOnControlPlanes,
	}
	for _, variable := range topology.Variables {
		if known := into[variable.Name]; known != nil {
			if err := json.Unmarshal(variable.Value.Raw, known); err != nil {
				return fmt.Errorf("read variable %s: %w", variable.Name, err)
			}
		}
	}
	p.NodeImage = p.NodeImages[p.KubernetesVersion]
	p.Network, p.LoadBalancerImage = network.Name, loadBalancer.Image
	return nil
}

// readWithoutClass reads the control plane and the workers of a cluster without a class.
func (p *Present) readWithoutClass(ctx context.Context, r *reader) {
	controlPlane := find[controlplanev1.KubeadmControlPlane](ctx, r, objects.ControlPlaneName(p.Name))
	if controlPlane != nil {
		p.HasControlPlane, p.ControlPlanes = true, ptr.Deref(controlPlane.Spec.Replicas, 1)
		p.KubernetesVersion = controlPlane.Spec.Version
		name := controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef.Name
		if template := find[infrav1.ContainerMachineTemplate](ctx, r, name); template != nil {
			p.NodeImage = template.Spec.Template.Spec.Image
		}
	}
	workers := find[clusterv1.MachineDeployment](ctx, r, objects.WorkersName(p.Name))
	if workers != nil {
		p.HasWorkers, p.Workers = true, ptr.Deref(workers.Spec.Replicas, 1)
	}
}

func get(ctx context.Context, c client.Client, namespace, name string, into client.Object) (bool, error) {
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
