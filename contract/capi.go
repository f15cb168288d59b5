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

package contract

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// bootstrapKind is a bootstrap provider's, whose controller the tests are: they create each Secret. Its
// group is one for which Cluster API has permissions.
func bootstrapKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "bootstrap.cluster.x-k8s.io", Version: "v1", Kind: "ContractTestConfig"}
}

func bootstrapCRD() *apiextensionsv1.CustomResourceDefinition {
	kind := bootstrapKind()
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "contracttestconfigs." + kind.Group,
			Labels: map[string]string{clusterv1.GroupVersion.Group + "/v1beta2": kind.Version},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind.Kind, ListKind: kind.Kind + "List", Plural: "contracttestconfigs", Singular: "contracttestconfig",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
}

// cluster is the Cluster of the world, to read.
func (w *world) cluster() *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: nameOfCluster}}
}

func (w *world) machine(name string) *clusterv1.Machine {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
}

func reference(kind schema.GroupVersionKind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: name}
}

func (w *world) createCluster(ctx context.Context) error {
	cluster := w.cluster()
	cluster.Spec = clusterv1.ClusterSpec{
		ClusterNetwork: clusterv1.ClusterNetwork{
			Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{"10.244.0.0/16"}},
			Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.128.0.0/12"}},
		},
		ControlPlaneEndpoint: w.provider.Endpoint,
		InfrastructureRef:    reference(w.provider.Objects.Cluster.GroupVersionKind(), nameOfCluster),
	}
	return w.create(ctx, cluster)
}

// createMachine creates a Machine, whose bootstrap data does not exist yet.
func (w *world) createMachine(ctx context.Context, name string, change ...func(*clusterv1.Machine)) error {
	config := w.bootstrapConfig(name)
	config.SetLabels(map[string]string{clusterv1.ClusterNameLabel: nameOfCluster})
	if err := w.create(ctx, config); err != nil {
		return err
	}
	machine := w.machine(name)
	machine.Labels = map[string]string{clusterv1.ClusterNameLabel: nameOfCluster}
	machine.Spec = clusterv1.MachineSpec{
		ClusterName: nameOfCluster, Version: w.provider.KubernetesVersion,
		Bootstrap:         clusterv1.Bootstrap{ConfigRef: reference(bootstrapKind(), name)},
		InfrastructureRef: reference(w.provider.Objects.Machine.GroupVersionKind(), name),
	}
	for _, f := range change {
		f(machine)
	}
	return w.create(ctx, machine)
}

func (w *world) bootstrapConfig(name string) *unstructured.Unstructured {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(bootstrapKind())
	config.SetNamespace(w.namespace)
	config.SetName(name)
	return config
}

func asControlPlane(machine *clusterv1.Machine) {
	machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
}

func (w *world) createSecret(ctx context.Context, name string) error {
	return w.create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: nameOfCluster},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{"value": []byte(w.provider.Bootstrap.Data), "format": []byte(w.provider.Bootstrap.Format)},
	})
}

// giveData does what a bootstrap provider does.
func (w *world) giveData(ctx context.Context, machine string) error {
	if err := w.createSecret(ctx, machine); err != nil {
		return err
	}
	config := w.bootstrapConfig(machine)
	return w.editStatus(ctx, config, func() {
		config.Object["status"] = map[string]any{
			"dataSecretName": machine, "initialization": map[string]any{"dataSecretCreated": true},
		}
	})
}

// addMachine creates a Machine with data and its infrastructure.
func (w *world) addMachine(ctx context.Context, name string, change ...func(*clusterv1.Machine)) error {
	if err := w.create(ctx, w.like(w.provider.Objects.Machine, name)); err != nil {
		return err
	}
	if err := w.createMachine(ctx, name, change...); err != nil {
		return err
	}
	return w.giveData(ctx, name)
}

var (
	errNotProvisioned = errors.New("it is not provisioned")
	errNotCopied      = errors.New("it is not in the object of Cluster API")
	errNoOwner        = errors.New("it has no owner, which Cluster API sets")
)

// awaitCluster waits until the infrastructure of the Cluster is provisioned.
func (w *world) awaitCluster(ctx context.Context) error {
	object := w.infraCluster()
	err := w.becomes(ctx, object, "provisioned", func() error {
		if !isProvisioned(object) {
			return fmt.Errorf("%w: %s", errNotProvisioned, state(object))
		}
		return nil
	})
	if err != nil {
		return err
	}
	cluster := w.cluster()
	return w.becomes(ctx, cluster, "with its infrastructure provisioned", func() error {
		if !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) {
			return fmt.Errorf("%w: %v", errNotCopied, cluster.Status.Conditions)
		}
		return nil
	})
}

// awaitMachine waits until the infrastructure of a Machine is provisioned.
func (w *world) awaitMachine(ctx context.Context, name string) error {
	object := w.infraMachine(name)
	err := w.becomes(ctx, object, "provisioned", func() error {
		if !isProvisioned(object) {
			return fmt.Errorf("%w: %s", errNotProvisioned, state(object))
		}
		return nil
	})
	if err != nil {
		return err
	}
	machine := w.machine(name)
	return w.becomes(ctx, machine, "with its infrastructure provisioned", func() error {
		if !ptr.Deref(machine.Status.Initialization.InfrastructureProvisioned, false) {
			return fmt.Errorf("%w: %v", errNotCopied, machine.Status.Conditions)
		}
		return nil
	})
}

// awaitOwner waits until Cluster API owns an object.
func (w *world) awaitOwner(ctx context.Context, object *unstructured.Unstructured) error {
	return w.becomes(ctx, object, "owned", func() error {
		if len(object.GetOwnerReferences()) == 0 {
			return errNoOwner
		}
		return nil
	})
}

// pause pauses the Cluster, or ends that.
func (w *world) pause(ctx context.Context, paused bool) error {
	cluster := w.cluster()
	return w.edit(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(paused) })
}

// touch changes something of the Cluster that means nothing, so that all controllers look at it.
func (w *world) touch(ctx context.Context) error {
	cluster := w.cluster()
	return w.edit(ctx, cluster, func() {
		if cluster.Annotations == nil {
			cluster.Annotations = map[string]string{}
		}
		cluster.Annotations["contract.test/touched"] = cluster.ResourceVersion
	})
}

// provision are the steps that end with a cluster and a machine.
func (w *world) provision(machine string) []step {
	return []step{
		{run: func(ctx context.Context) error {
			return w.create(ctx, w.like(w.provider.Objects.Cluster, nameOfCluster))
		}},
		{run: w.createCluster},
		{run: w.awaitCluster},
		{run: func(ctx context.Context) error { return w.addMachine(ctx, machine, asControlPlane) }},
		{run: func(ctx context.Context) error { return w.awaitMachine(ctx, machine) }},
	}
}

// end deletes the Cluster, and all that it owns.
func (w *world) end(ctx context.Context) error { return w.delete(ctx, w.cluster()) }

var (
	errExists    = errors.New("infrastructure exists")
	errNotExists = errors.New("no infrastructure exists")
	errNoHook    = notApplicableError("no Infrastructure says what exists behind an object")
)

// exists checks whether infrastructure exists behind an object. Without a hook it finds nothing.
func (w *world) exists(ctx context.Context, object *unstructured.Unstructured, expected bool) error {
	if w.provider.Infrastructure == nil {
		return nil
	}
	exists, err := w.provider.Infrastructure.Exists(ctx, object)
	switch {
	case err != nil:
		return fmt.Errorf("ask what exists behind %s: %w", describe(object), err)
	case exists && !expected:
		return fmt.Errorf("%w behind %s", errExists, describe(object))
	case !exists && expected:
		return fmt.Errorf("%w behind %s", errNotExists, describe(object))
	}
	return nil
}
