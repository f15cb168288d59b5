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
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/util/contract"
)

const (
	contractLabel = "cluster.x-k8s.io/v1beta2"
	defaultGroup  = "infrastructure.cluster.x-k8s.io"
	// Labels of ClusterRoles that are aggregated into those of Cluster API's managers.
	aggregateToCore    = "cluster.x-k8s.io/aggregate-to-manager"
	aggregateToKubeadm = "kubeadm.controlplane.cluster.x-k8s.io/aggregate-to-manager"
)

var (
	errScope     = errors.New("it is not namespaced")
	errNoList    = errors.New("it has no list kind")
	errKind      = errors.New("the kind has another name than its template")
	errLabel     = errors.New("the label " + contractLabel + " names no served version")
	errNotServed = errors.New("the version is not served, or has no schema")
	errField     = errors.New("the field has another schema than the contract needs")
	errForbidden = errors.New("the field must not exist")
	errCEL       = errors.New("a CEL rule refuses changes")
	errNoRole    = errors.New("no ClusterRole has the label")
)

// kind of the provider with its definition.
type kind struct {
	name string
	schema.GroupVersionKind
	crd *apiextensionsv1.CustomResourceDefinition
}

// definitions are what the CRDs say, in the API server.
func definitions() scenario {
	return scenario{name: "kinds", steps: func(w *world) []step {
		var kinds []kind
		each := func(check func(kind) error, names ...string) func(context.Context) error {
			return func(context.Context) error { return checkEach(kinds, check, names...) }
		}
		objects := []string{"InfraCluster", "InfraMachine", "InfraMachinePool"}
		machineTemplates := []string{"InfraMachineTemplate"}
		templates := []string{"InfraClusterTemplate", "InfraMachineTemplate"}
		return []step{
			{rule: "C5", essential: true, run: func(ctx context.Context) (err error) { kinds, err = w.kinds(ctx); return err }},
			{rule: "C1", run: each(isNamespaced)},
			{rule: "C3", run: each(hasList)},
			{rule: "C4", run: func(context.Context) error { return w.provider.Objects.checkNames() }},
			{rule: "C6", run: each(isLabeled)},
			{rule: "C11", run: func(ctx context.Context) error { return w.hasRole(ctx, aggregateToCore) }},
			{rule: "C12", run: func(ctx context.Context) error { return w.hasRole(ctx, aggregateToKubeadm) }},
			{rule: "C16", run: each(hasConditions, objects...)},
			{rule: "C18", run: each(lacks("status", "failureReason", "failureMessage"), objects...)},
			{rule: "C19", run: each(has("boolean", "status", "initialization", "provisioned"), objects...)},
			{rule: "C20", run: each(hasMetadata, templates...)},
			{rule: "IC1", run: func(ctx context.Context) error {
				if err := w.suppliesEndpoint(); err != nil {
					return err
				}
				return each(hasEndpoint, "InfraCluster")(ctx)
			}},
			{rule: "IC6", run: each(hasDomains, "InfraCluster")},
			{rule: "IM1", run: each(has("string", "spec", "providerID"), "InfraMachine")},
			{rule: "IM7", run: each(lacks("spec", "failureDomain"), "InfraMachine")},
			{rule: "IMT3", run: each(hasNoRule, machineTemplates...)},
			{rule: "IMT5", run: each(hasCapacity, machineTemplates...)},
		}
	}}
}

// checkEach checks the kinds that have one of the names, by default all.
func checkEach(kinds []kind, check func(kind) error, names ...string) error {
	var errs []error
	for _, k := range kinds {
		if len(names) > 0 && !slices.Contains(names, k.name) {
			continue
		}
		if err := check(k); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", k.Kind, err))
		}
	}
	return errors.Join(errs...)
}

// kinds reads the CRDs by the names that Cluster API uses.
func (w *world) kinds(ctx context.Context) ([]kind, error) {
	var kinds []kind
	var errs []error
	for name, gvk := range w.provider.Objects.kinds() {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Name = contract.CalculateCRDName(gvk.Group, gvk.Kind)
		if err := w.api.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			errs = append(errs, fmt.Errorf("get the CRD of %s: %w", gvk.Kind, err))
			continue
		}
		kinds = append(kinds, kind{name, gvk, crd})
	}
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	return kinds, errors.Join(errs...)
}

func isNamespaced(k kind) error {
	if k.crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
		return errScope
	}
	return nil
}

func hasList(k kind) error {
	if k.crd.Spec.Names.ListKind != k.Kind+"List" {
		return fmt.Errorf("%w: %q", errNoList, k.crd.Spec.Names.ListKind)
	}
	return nil
}

func (o Objects) checkNames() error {
	for template, object := range map[string]string{"InfraClusterTemplate": "InfraCluster", "InfraMachineTemplate": "InfraMachine"} {
		kinds := o.kinds()
		if t, found := kinds[template]; found && strings.TrimSuffix(t.Kind, templateSuffix) != kinds[object].Kind {
			return fmt.Errorf("%w: %s of %s", errKind, t.Kind, kinds[object].Kind)
		}
	}
	return nil
}

// isLabeled checks that all versions of the label are served, and that it names that of the object.
func isLabeled(k kind) error {
	labeled := strings.Split(k.crd.Labels[contractLabel], "_")
	for _, version := range labeled {
		served := slices.ContainsFunc(k.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version && v.Served
		})
		if !served {
			return fmt.Errorf("%w: %q", errLabel, k.crd.Labels[contractLabel])
		}
	}
	return nil
}

// hasRole looks for a ClusterRole for the provider's group, among those that are installed or in the
// manifests.
func (w *world) hasRole(ctx context.Context, label string) error {
	group := w.provider.Objects.Cluster.GroupVersionKind().Group
	if group == defaultGroup {
		return notApplicableError("Cluster API has all permissions for the group " + group)
	}
	roles := &rbacv1.ClusterRoleList{}
	if err := w.api.List(ctx, roles, client.MatchingLabels{label: "true"}); err != nil {
		return fmt.Errorf("list ClusterRoles: %w", err)
	}
	for _, role := range append(roles.Items, w.provider.roles...) {
		covers := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, group) })
		if role.Labels[label] == "true" && covers {
			return nil
		}
	}
	return fmt.Errorf("%w %s and rules for %s", errNoRole, label, group)
}

func (k kind) version() *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range k.crd.Spec.Versions {
		if v := &k.crd.Spec.Versions[i]; v.Name == k.Version && v.Served {
			return v
		}
	}
	return nil
}

// at returns the schema of a field, nil if there is no such field.
func (k kind) at(path ...string) (*apiextensionsv1.JSONSchemaProps, error) {
	version := k.version()
	if version == nil || version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, errNotServed
	}
	field := version.Schema.OpenAPIV3Schema
	for _, name := range path {
		next, found := field.Properties[name]
		if !found {
			return nil, nil //nolint:nilnil // No field is no error.
		}
		field = &next
	}
	return field, nil
}

// has checks the type of a field.
func has(schemaType string, path ...string) func(kind) error {
	return func(k kind) error {
		field, err := k.at(path...)
		if err != nil {
			return err
		}
		if field == nil || field.Type != schemaType {
			return fmt.Errorf("%w: %s is not a %s", errField, strings.Join(path, "."), schemaType)
		}
		return nil
	}
}

// lacks checks that a parent has none of these fields.
func lacks(parent string, names ...string) func(kind) error {
	return func(k kind) error {
		for _, name := range names {
			field, err := k.at(parent, name)
			if err != nil {
				return err
			}
			if field != nil {
				return fmt.Errorf("%w: %s.%s", errForbidden, parent, name)
			}
		}
		return nil
	}
}

func hasConditions(k kind) error { return hasMapList(k, "type", "status", "conditions") }

func hasDomains(k kind) error {
	field, err := k.at("status", "failureDomains")
	if err != nil {
		return err
	}
	if field == nil {
		return notApplicableError("the cluster has no status.failureDomains")
	}
	return hasMapList(k, "name", "status", "failureDomains")
}

// hasMapList checks that a field is a list by this key.
func hasMapList(k kind, key string, path ...string) error {
	field, err := k.at(path...)
	if err != nil {
		return err
	}
	if field == nil || field.Type != "array" || !slices.Equal(field.XListMapKeys, []string{key}) {
		return fmt.Errorf("%w: %s is not a list by %s", errField, strings.Join(path, "."), key)
	}
	return nil
}

func hasEndpoint(k kind) error {
	return errors.Join(
		has("string", "spec", "controlPlaneEndpoint", "host")(k), has("integer", "spec", "controlPlaneEndpoint", "port")(k),
	)
}

func hasMetadata(k kind) error {
	return errors.Join(
		has("object", "spec", "template", "metadata", "labels")(k), has("object", "spec", "template", "metadata", "annotations")(k),
	)
}

func hasCapacity(k kind) error {
	field, err := k.at("status", "capacity")
	if err != nil {
		return err
	}
	if field == nil {
		return notApplicableError("the template has no status.capacity")
	}
	if v := k.version(); v.Subresources == nil || v.Subresources.Status == nil {
		return fmt.Errorf("%w: status is no subresource", errField)
	}
	return nil
}

// hasNoRule looks for CEL rules that compare with the previous spec as a whole.
func hasNoRule(k kind) error {
	for _, path := range [][]string{{"spec"}, {"spec", "template"}, {"spec", "template", "spec"}} {
		field, err := k.at(path...)
		if err != nil || field == nil {
			return err
		}
		for _, rule := range field.XValidations {
			if strings.Contains(rule.Rule, "oldSelf") {
				return fmt.Errorf("%w: %s: %s", errCEL, strings.Join(path, "."), rule.Rule)
			}
		}
	}
	return nil
}
