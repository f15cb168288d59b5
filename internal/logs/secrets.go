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

package logs

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// BootstrapSecrets returns the strings of a machine's bootstrap data that no
// log may show; none where the data is not there or cannot be read as such. The
// machine is named by its infrastructure's name, which its container carries.
func BootstrapSecrets(ctx context.Context, c client.Client, namespace, name, container string) ([]string, error) {
	machines := &clusterv1.MachineList{}
	if err := c.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	at := slices.IndexFunc(machines.Items, func(m clusterv1.Machine) bool {
		return m.Name == name || m.Spec.InfrastructureRef.Name == name
	})
	if at < 0 {
		return nil, nil
	}
	secret, err := dataSecretName(ctx, c, &machines.Items[at])
	if err != nil || secret == "" {
		return nil, err
	}
	return DataSecrets(ctx, c, client.ObjectKey{Namespace: namespace, Name: secret}, machines.Items[at].Name, container)
}

// dataSecretName of a Machine; that of a machine pool has it in an annotation of its
// infrastructure.
func dataSecretName(ctx context.Context, c client.Client, machine *clusterv1.Machine) (string, error) {
	if name := ptr.Deref(machine.Spec.Bootstrap.DataSecretName, ""); name != "" {
		return name, nil
	}
	// Only the metadata: the client of another project does not know the kind.
	infrastructure := &metav1.PartialObjectMetadata{}
	infrastructure.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ContainerMachine"))
	key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}
	if err := client.IgnoreNotFound(c.Get(ctx, key, infrastructure)); err != nil {
		return "", fmt.Errorf("get ContainerMachine %q: %w", key.Name, err)
	}
	return infrastructure.Annotations[infrav1.BootstrapDataSecretAnnotation], nil
}

// DataSecrets returns the strings of a machine's bootstrap data in a Secret that no log may
// show; none where the data is not there or cannot be read as such.
func DataSecrets(ctx context.Context, c client.Client, key client.ObjectKey, machine, container string) ([]string, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get bootstrap data %q: %w", key.Name, err)
	}
	config, err := bootstrap.Parse(secret.Data["value"], string(secret.Data["format"]),
		userdata.Instance{ID: container, Hostname: identity.HostName(machine)})
	if err != nil {
		// A machine cannot have been made of it.
		return nil, nil //nolint:nilerr // see above
	}
	return config.Secrets(), nil
}
