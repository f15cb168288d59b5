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
	"errors"
	"fmt"
	"slices"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

// BootstrapSecrets returns the strings of the bootstrap data of all machines of a
// cluster that must not appear anywhere, as far as the data can be read.
func BootstrapSecrets(ctx context.Context, c client.Client, namespace, cluster string) ([]string, error) {
	machines, pools, instances := &clusterv1.MachineList{}, &clusterv1.MachinePoolList{}, &infrav1.ContainerMachineList{}
	inNamespace := client.InNamespace(namespace)
	err := errors.Join(c.List(ctx, machines, inNamespace), c.List(ctx, pools, inNamespace), c.List(ctx, instances, inNamespace))
	if err != nil {
		err = fmt.Errorf("list machines of cluster %q: %w", cluster, err)
	}
	var secrets []string
	add := func(secret, name, providerID string) {
		if secret == "" {
			return
		}
		container, _ := identity.ParseProviderID(providerID)
		found, failed := logs.DataSecrets(ctx, c, client.ObjectKey{Namespace: namespace, Name: secret},
			userdata.Instance{ID: container, Hostname: identity.HostName(name)})
		secrets, err = append(secrets, found...), errors.Join(err, failed)
	}
	for _, machine := range machines.Items {
		if name := machine.Spec.Bootstrap.DataSecretName; machine.Spec.ClusterName == cluster && name != nil {
			add(*name, machine.Name, machine.Spec.ProviderID)
		}
	}
	for _, pool := range pools.Items {
		if name := pool.Spec.Template.Spec.Bootstrap.DataSecretName; pool.Spec.ClusterName == cluster && name != nil {
			add(*name, pool.Name, "")
		}
	}
	for _, instance := range instances.Items {
		if instance.Labels[clusterv1.ClusterNameLabel] == cluster {
			add(instance.Annotations[infrav1.BootstrapDataSecretAnnotation], instance.Name, instance.Spec.ProviderID)
		}
	}
	slices.Sort(secrets)
	return slices.Compact(secrets), err
}

const redacted = "[redacted]"

// Redact replaces in a JSON value, such as an object, the given secrets, what looks
// like a secret, and what the names next to it call one. It changes the value in place
// where that is an object or a list. The text of a document is not redacted as a
// whole: quotes and line breaks would hide secrets in it.
func Redact(value any, secrets []string) any {
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			if isSecret(value, key) {
				value[key] = redacted
			} else {
				value[key] = Redact(child, secrets)
			}
		}
	case []any:
		for i := range value {
			value[i] = Redact(value[i], secrets)
		}
	case string:
		return redact.Text(value, secrets...)
	}
	return value
}

// isSecret reports whether a field is a secret by its name, by the name of the
// variable whose value it is, or as the content of a file that not every user may read.
func isSecret(parent map[string]any, key string) bool {
	switch key {
	case "value":
		name, _ := parent["name"].(string)
		return namesSecret(name)
	case "content":
		permissions, _ := parent["permissions"].(string)
		mode, err := strconv.ParseUint(permissions, 8, 32)
		return parent["encoding"] != nil || permissions != "" && (err != nil || mode&0o004 == 0)
	case "additionalConfig": // of Ignition: a document with files
		return true
	}
	text, _ := parent[key].(string)
	return text != "" && namesSecret(key)
}

// namesSecret asks what decides it for logs.
func namesSecret(name string) bool {
	assigned := name + ": word"
	return redact.Text(assigned) != assigned
}
