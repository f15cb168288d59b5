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
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// kubeadmConfig is the kind of bootstrap configuration of nodes that kubeadm set up.
const kubeadmConfig = "KubeadmConfig"

// ControlPlaneMachines of a cluster.
func ControlPlaneMachines(ctx context.Context, c client.Client, namespace, cluster string) ([]clusterv1.Machine, error) {
	machines := &clusterv1.MachineList{}
	err := c.List(ctx, machines, client.InNamespace(namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	if err != nil {
		return nil, fmt.Errorf("list control plane Machines of cluster %q: %w", cluster, err)
	}
	return machines.Items, nil
}

// CheckKubeadm returns an error where kubeadm did not set up one of the control plane Machines.
func CheckKubeadm(machines []clusterv1.Machine) error {
	for i := range machines {
		if kind := machines[i].Spec.Bootstrap.ConfigRef.Kind; kind != kubeadmConfig {
			if kind == "" {
				kind = "a Secret of your own"
			}
			return fmt.Errorf("the bootstrap data of Machine %s is of %s and not of %s: renew the certificates with the tool that set up the control plane",
				machines[i].Name, kind, kubeadmConfig)
		}
	}
	return nil
}

// RecordExpiry records when the certificates of control plane Machines end, by the names of their
// ContainerMachines. Cluster API sets the annotation once, from the API server, and reads it
// of the Machine first and then of its KubeadmConfig.
func RecordExpiry(ctx context.Context, c client.Client, machines []clusterv1.Machine, ends map[string]time.Time) error {
	for i := range machines {
		machine := &machines[i]
		end, known := ends[machine.Spec.InfrastructureRef.Name]
		if !known {
			continue
		}
		if _, set := machine.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]; set {
			if err := setExpiry(ctx, c, machine, end); err != nil {
				return fmt.Errorf("annotate Machine %q: %w", machine.Name, err)
			}
		}
		config := &bootstrapv1.KubeadmConfig{}
		found, err := get(ctx, c, machine.Namespace, machine.Spec.Bootstrap.ConfigRef.Name, config)
		if err == nil && found {
			err = setExpiry(ctx, c, config, end)
		}
		if err != nil {
			return fmt.Errorf("annotate KubeadmConfig %q: %w", machine.Spec.Bootstrap.ConfigRef.Name, err)
		}
	}
	return nil
}

func setExpiry(ctx context.Context, c client.Client, object client.Object, end time.Time) error {
	annotations, text := object.GetAnnotations(), end.UTC().Format(time.RFC3339)
	if annotations[clusterv1.MachineCertificatesExpiryDateAnnotation] == text {
		return nil
	}
	patch := client.MergeFrom(object.DeepCopyObject().(client.Object)) //nolint:forcetypeassert // a copy of one
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[clusterv1.MachineCertificatesExpiryDateAnnotation] = text
	object.SetAnnotations(annotations)
	return c.Patch(ctx, object, patch)
}
