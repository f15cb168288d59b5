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

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
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
	present := Present{Values: objects.Values{Namespace: namespace, Name: name}}
	reads := []func(context.Context, client.Client, *Present) error{
		readCluster, readInfrastructure, readControlPlane, readWorkers, readCNI,
	}
	for _, read := range reads {
		if err := read(ctx, c, &present); err != nil {
			return Present{}, fmt.Errorf("read cluster %q: %w", name, err)
		}
	}
	return present, nil
}

func readCluster(ctx context.Context, c client.Client, p *Present) error {
	cluster := &clusterv1.Cluster{}
	found, err := get(ctx, c, p.Namespace, p.Name, cluster)
	if err != nil || !found {
		return err
	}
	p.Exists, p.Deleting = true, !cluster.DeletionTimestamp.IsZero()
	_, p.WithoutCNI = cluster.Annotations[objects.NoCNIAnnotation]
	p.PodCIDR = cluster.Spec.ClusterNetwork.Pods.String()
	p.ServiceCIDR = cluster.Spec.ClusterNetwork.Services.String()
	if p.WithoutClass = !cluster.Spec.Topology.IsDefined(); p.WithoutClass {
		return nil
	}
	return readTopology(cluster.Spec.Topology, p)
}

// readTopology, and not what Cluster API makes of it: that may be on its way.
func readTopology(topology clusterv1.Topology, p *Present) error {
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

func readInfrastructure(ctx context.Context, c client.Client, p *Present) error {
	infrastructure := &infrav1.ContainerCluster{}
	if _, err := get(ctx, c, p.Namespace, p.Name, infrastructure); err != nil {
		return err
	}
	p.OwnerID = infrastructure.OwnerID()
	p.Network = cmp.Or(infrastructure.Spec.Network.Name, p.Network)
	p.LoadBalancerImage = cmp.Or(p.LoadBalancerImage, infrastructure.Spec.LoadBalancer.Image)
	return nil
}

// readControlPlane of a cluster without a class.
func readControlPlane(ctx context.Context, c client.Client, p *Present) error {
	if !p.WithoutClass {
		return nil
	}
	controlPlane := &controlplanev1.KubeadmControlPlane{}
	found, err := get(ctx, c, p.Namespace, objects.ControlPlaneName(p.Name), controlPlane)
	if err != nil || !found {
		return err
	}
	p.HasControlPlane = true
	p.ControlPlanes = ptr.Deref(controlPlane.Spec.Replicas, 1)
	p.KubernetesVersion = controlPlane.Spec.Version
	template := &infrav1.ContainerMachineTemplate{}
	_, err = get(ctx, c, p.Namespace, controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef.Name, template)
	p.NodeImage = template.Spec.Template.Spec.Image
	return err
}

// readWorkers of a cluster without a class.
func readWorkers(ctx context.Context, c client.Client, p *Present) error {
	if !p.WithoutClass {
		return nil
	}
	workers := &clusterv1.MachineDeployment{}
	found, err := get(ctx, c, p.Namespace, objects.WorkersName(p.Name), workers)
	if err != nil || !found {
		return err
	}
	p.HasWorkers = true
	p.Workers = ptr.Deref(workers.Spec.Replicas, 1)
	return nil
}

func readCNI(ctx context.Context, c client.Client, p *Present) error {
	manifest := &corev1.ConfigMap{}
	if _, err := get(ctx, c, p.Namespace, objects.CNIName(p.Name), manifest); err != nil {
		return err
	}
	for _, text := range manifest.Data {
		p.CNIManifest = text
	}
	return nil
}

func get(ctx context.Context, c client.Client, namespace, name string, into client.Object) (bool, error) {
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
