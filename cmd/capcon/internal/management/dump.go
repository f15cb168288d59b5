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
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

// Dump returns the objects of a cluster with what they refer to, and their Events, as
// far as they can be read. The kinds are those of Cluster API and its providers that
// the client knows. A Secret is never among them.
func Dump(ctx context.Context, c client.Client, namespace, name string) (objects, events []unstructured.Unstructured, err error) {
	var all []unstructured.Unstructured
	var errs []error
	for _, kind := range clusterKinds(c.Scheme()) {
		found, err := list(ctx, c, namespace, kind)
		all, errs = append(all, found...), append(errs, err)
	}
	objects = related(all, name)
	of := map[reference]bool{}
	for _, object := range objects {
		of[referenceTo(object)] = true
	}
	events, err = list(ctx, c, namespace, corev1.SchemeGroupVersion.WithKind("EventList"))
	events = slices.DeleteFunc(events, func(event unstructured.Unstructured) bool {
		kind, _, _ := unstructured.NestedString(event.Object, "involvedObject", "kind")
		name, _, _ := unstructured.NestedString(event.Object, "involvedObject", "name")
		return !of[reference{kind, name}]
	})
	return objects, events, errors.Join(append(errs, err)...)
}

// clusterKinds are the list kinds of Cluster API and its providers.
func clusterKinds(scheme *runtime.Scheme) []schema.GroupVersionKind {
	kinds := slices.SortedFunc(maps.Keys(scheme.AllKnownTypes()), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	return slices.DeleteFunc(kinds, func(kind schema.GroupVersionKind) bool {
		return !strings.HasSuffix("."+kind.Group, ".cluster.x-k8s.io") || !strings.HasSuffix(kind.Kind, "List")
	})
}

// list objects without the fields that repeat their content. A kind that the
// management plane does not serve has none.
func list(ctx context.Context, c client.Client, namespace string, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind)
	err := c.List(ctx, found, client.InNamespace(namespace))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list objects of kind %s: %w", strings.TrimSuffix(kind.Kind, "List"), err)
	}
	for i := range found.Items {
		unstructured.RemoveNestedField(found.Items[i].Object, "metadata", "managedFields")
		unstructured.RemoveNestedField(found.Items[i].Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	}
	return found.Items, nil
}

// reference to an object of the namespace.
type reference struct{ kind, name string }

func referenceTo(object unstructured.Unstructured) reference {
	return reference{object.GetKind(), object.GetName()}
}

// related are the objects of a cluster and those without a cluster that they refer
// to, such as its ClusterClass and the templates of that.
func related(all []unstructured.Unstructured, cluster string) []unstructured.Unstructured {
	included := map[reference]bool{}
	all = slices.DeleteFunc(all, func(object unstructured.Unstructured) bool {
		of := clusterOf(object)
		if of == cluster {
			included[referenceTo(object)] = true
		}
		return of != "" && of != cluster
	})
	for before := -1; before != len(included); {
		before = len(included)
		for _, object := range all {
			if included[referenceTo(object)] {
				addReferences(object.Object, included)
			}
		}
	}
	return slices.DeleteFunc(all, func(object unstructured.Unstructured) bool { return !included[referenceTo(object)] })
}

// clusterOf an object; empty where clusters share it.
func clusterOf(object unstructured.Unstructured) string {
	if kind := object.GetKind(); kind == "Cluster" || kind == "ContainerCluster" {
		return object.GetName()
	}
	if name, _, _ := unstructured.NestedString(object.Object, "spec", "clusterName"); name != "" {
		return name
	}
	return object.GetLabels()[clusterv1.ClusterNameLabel]
}

// addReferences that a value has: objects with kind and name, a Cluster's to its class, and engines.
func addReferences(value any, into map[reference]bool) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			addReferences(item, into)
		}
	case map[string]any:
		kind, _ := value["kind"].(string)
		name, _ := value["name"].(string)
		if kind != "" && name != "" {
			into[reference{kind, name}] = true
		}
		if class, found, _ := unstructured.NestedString(value, "classRef", "name"); found {
			into[reference{"ClusterClass", class}] = true
		}
		for _, key := range []string{"engineName", "engineNames", infrav1.EngineNameAnnotation} {
			addEngines(value[key], into)
		}
		for _, child := range value {
			addReferences(child, into)
		}
	}
}

// addEngines that a field names; nil = it is not set.
func addEngines(value any, into map[reference]bool) {
	switch value := value.(type) {
	case string:
		into[reference{"ContainerEngine", value}] = true
	case []any:
		for _, item := range value {
			addEngines(item, into)
		}
	}
}

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
		found, failed := logs.DataSecrets(ctx, c, client.ObjectKey{Namespace: namespace, Name: secret}, name, container)
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

// Redact replaces in a JSON value, such as an object, the secrets, what looks
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
