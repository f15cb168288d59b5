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

package objects

import (
	"k8s.io/utils/ptr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
)

// criSocket is where containerd listens in node images, the stock ones and
// ours. kubeadm would find it by itself, but only after its socket is there.
const criSocket = "unix:///var/run/containerd/containerd.sock"

func cluster(v Values) *clusterv1.Cluster {
	rendered := &clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind},
		ObjectMeta: meta(v, v.Name),
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{v.PodCIDR}},
				Services: clusterv1.NetworkRanges{CIDRBlocks: []string{v.ServiceCIDR}},
			},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: v.Name,
			},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: ControlPlaneName(v.Name),
			},
		},
	}
	if v.CNIManifest == "" {
		rendered.Annotations = map[string]string{NoCNIAnnotation: ""}
	}
	return rendered
}

func containerCluster(v Values) *infrav1.ContainerCluster {
	return &infrav1.ContainerCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "ContainerCluster"},
		ObjectMeta: meta(v, v.Name),
		Spec: infrav1.ContainerClusterSpec{
			Network:      infrav1.Network{Name: v.Network},
			LoadBalancer: infrav1.LoadBalancer{Image: v.LoadBalancerImage},
		},
	}
}

func machineTemplate(v Values, prefix string) (*infrav1.ContainerMachineTemplate, error) {
	template := &infrav1.ContainerMachineTemplate{
		TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "ContainerMachineTemplate"},
		Spec: infrav1.ContainerMachineTemplateSpec{
			Template: infrav1.ContainerMachineTemplateResource{
				Spec: infrav1.ContainerMachineSpec{Image: v.NodeImage},
			},
		},
	}
	name, err := contentName(prefix, template.Spec)
	if err != nil {
		return nil, err
	}
	template.ObjectMeta = meta(v, name)
	return template, nil
}

func controlPlane(v Values, template string) *controlplanev1.KubeadmControlPlane {
	return &controlplanev1.KubeadmControlPlane{
		TypeMeta:   metav1.TypeMeta{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane"},
		ObjectMeta: meta(v, ControlPlaneName(v.Name)),
		Spec: controlplanev1.KubeadmControlPlaneSpec{
			Replicas: ptr.To(v.ControlPlanes),
			Version:  v.KubernetesVersion,
			MachineTemplate: controlplanev1.KubeadmControlPlaneMachineTemplate{
				Spec: controlplanev1.KubeadmControlPlaneMachineTemplateSpec{
					InfrastructureRef: machineTemplateReference(template),
				},
			},
			KubeadmConfigSpec: bootstrapv1.KubeadmConfigSpec{
				InitConfiguration: bootstrapv1.InitConfiguration{NodeRegistration: nodeRegistration()},
				JoinConfiguration: bootstrapv1.JoinConfiguration{NodeRegistration: nodeRegistration()},
			},
		},
	}
}

func nodeRegistration() bootstrapv1.NodeRegistrationOptions {
	return bootstrapv1.NodeRegistrationOptions{CRISocket: criSocket}
}

func machineTemplateReference(name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerMachineTemplate", Name: name,
	}
}

func kubeadmConfigTemplate(v Values) (*bootstrapv1.KubeadmConfigTemplate, error) {
	template := &bootstrapv1.KubeadmConfigTemplate{
		TypeMeta: metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfigTemplate"},
		Spec: bootstrapv1.KubeadmConfigTemplateSpec{
			Template: bootstrapv1.KubeadmConfigTemplateResource{
				Spec: bootstrapv1.KubeadmConfigSpec{
					JoinConfiguration: bootstrapv1.JoinConfiguration{NodeRegistration: nodeRegistration()},
				},
			},
		},
	}
	name, err := contentName(WorkersName(v.Name), template.Spec)
	if err != nil {
		return nil, err
	}
	template.ObjectMeta = meta(v, name)
	return template, nil
}

func workers(v Values, template, bootstrapTemplate string) *clusterv1.MachineDeployment {
	name := WorkersName(v.Name)
	return &clusterv1.MachineDeployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment"},
		ObjectMeta: meta(v, name),
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: v.Name,
			Replicas:    ptr.To(v.Workers),
			Template: clusterv1.MachineTemplateSpec{
				Spec: clusterv1.MachineSpec{
					ClusterName: v.Name,
					Version:     v.KubernetesVersion,
					Bootstrap: clusterv1.Bootstrap{
						ConfigRef: clusterv1.ContractVersionedObjectReference{
							APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfigTemplate", Name: bootstrapTemplate,
						},
					},
					InfrastructureRef: machineTemplateReference(template),
				},
			},
		},
	}
}
