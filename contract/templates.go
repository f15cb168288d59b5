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
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	nameOfTemplate = "template"
	templateLabel  = "contract.test/of-template"
	fieldOwner     = client.FieldOwner("contract")
)

var (
	errAccepted = errors.New("the change is accepted")
	errDefaults = errors.New("the spec differs")
	errNone     = errors.New("there is none")
)

// templates are created, changed and used.
func templates() scenario {
	return scenario{name: "template", steps: func(w *world) []step {
		template := w.unpopulated(w.provider.Objects.MachineTemplate, nameOfTemplate)
		return []step{
			{run: w.applyTemplate},
			{rule: "IMT4", run: func(ctx context.Context) error { return w.applyAgain(ctx, template) }},
			{rule: "IMT2a", run: func(ctx context.Context) error { return w.refusesChange(ctx, template) }},
			{rule: "IMT2b", run: func(ctx context.Context) error { return w.allowsDryRun(ctx, template) }},
			{rule: "IMT8", run: func(ctx context.Context) error { return w.hasSameDefaults(ctx, template) }},
			{rule: "ICT1", run: w.clusterFromTemplate},
			{run: w.createCluster},
			{run: func(ctx context.Context) error {
				return w.create(ctx, w.like(w.provider.Objects.Cluster, nameOfCluster))
			}},
			{run: w.touch},
			{run: w.createDeployment},
			{rule: "IMT1", run: w.machineFromTemplate},
			{rule: "IMT7", run: func(ctx context.Context) error {
				if err := w.quiet(ctx, template); err != nil {
					return err
				}
				if finalizers := template.GetFinalizers(); len(finalizers) > 0 {
					return fmt.Errorf("%w: %q", errTouched, finalizers)
				}
				return nil
			}},
			{run: w.end},
		}
	}}
}

// desiredTemplate is the template as a user applies it, with a label for the machines.
func (w *world) desiredTemplate() *unstructured.Unstructured {
	template := w.like(w.provider.Objects.MachineTemplate, nameOfTemplate)
	_ = unstructured.SetNestedField(template.Object, "yes", "spec", "template", "metadata", "labels", templateLabel)
	return template
}

func (w *world) applyTemplate(ctx context.Context) error {
	template := w.desiredTemplate()
	if err := w.api.Apply(ctx, client.ApplyConfigurationFromUnstructured(template), fieldOwner); err != nil {
		return fmt.Errorf("apply %s: %w", describe(template), err)
	}
	return nil
}

func (w *world) applyAgain(ctx context.Context, template *unstructured.Unstructured) error {
	if err := w.quiet(ctx, template); err != nil {
		return err
	}
	before := template.DeepCopy()
	if err := w.applyTemplate(ctx); err != nil {
		return err
	}
	if err := w.get(ctx, template); err != nil {
		return err
	}
	if before.GetResourceVersion() != template.GetResourceVersion() {
		return fmt.Errorf("%w: %v", errDefaults, template.Object["spec"])
	}
	return nil
}

// changed returns the template with another spec, which a new template may have.
func (w *world) changed(ctx context.Context, template *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := w.get(ctx, template); err != nil {
		return nil, err
	}
	change := w.provider.Objects.MachineTemplateChange
	if len(change) == 0 {
		change = map[string]any{"providerID": "contract://changed"}
	}
	next := template.DeepCopy()
	spec, _, err := unstructured.NestedMap(next.Object, "spec", "template", "spec")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", describe(template), err)
	}
	if spec == nil {
		spec = map[string]any{}
	}
	maps.Copy(spec, change)
	if err := unstructured.SetNestedMap(next.Object, spec, "spec", "template", "spec"); err != nil {
		return nil, fmt.Errorf("change %s: %w", describe(template), err)
	}
	// What a new template could not have would be refused for another reason.
	fresh := w.unpopulated(template, nameOfTemplate+"-changed")
	fresh.Object["spec"] = next.Object["spec"]
	err = w.api.Create(ctx, fresh, client.DryRunAll)
	if err != nil || equality.Semantic.DeepEqual(fresh.Object["spec"], template.Object["spec"]) {
		return nil, notApplicableError(fmt.Sprintf("no valid change of the spec is known: set MachineTemplateChange (%v: %v)", change, err))
	}
	return next, nil
}

func (w *world) refusesChange(ctx context.Context, template *unstructured.Unstructured) error {
	next, err := w.changed(ctx, template)
	if err != nil {
		return err
	}
	switch err := w.api.Update(ctx, next, client.DryRunAll); {
	case err == nil:
		return errAccepted
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return nil
	default:
		return fmt.Errorf("change %s: %w", describe(template), err)
	}
}

func (w *world) allowsDryRun(ctx context.Context, template *unstructured.Unstructured) error {
	next, err := w.changed(ctx, template)
	if err != nil {
		return err
	}
	annotations := next.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[clusterv1.TopologyDryRunAnnotation] = ""
	next.SetAnnotations(annotations)
	if err := w.api.Update(ctx, next, client.DryRunAll); err != nil {
		return fmt.Errorf("change %s in a dry run: %w", describe(template), err)
	}
	return nil
}

// created is what the API server makes of the object that a template describes.
func (w *world) created(ctx context.Context, template *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object, err := fromTemplate(template)
	if err != nil {
		return nil, err
	}
	object = w.like(object, "of-template")
	if err := w.api.Create(ctx, object, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("create %s from its template: %w", describe(object), err)
	}
	return object, nil
}

func (w *world) hasSameDefaults(ctx context.Context, template *unstructured.Unstructured) error {
	if err := w.get(ctx, template); err != nil {
		return err
	}
	object, err := w.created(ctx, template)
	if err != nil {
		return err
	}
	ofTemplate, _, _ := unstructured.NestedMap(template.Object, "spec", "template", "spec")
	ofObject, _, _ := unstructured.NestedMap(object.Object, "spec")
	if len(ofTemplate)+len(ofObject) > 0 && !equality.Semantic.DeepEqual(ofTemplate, ofObject) {
		return fmt.Errorf("%w: the template has %v, the machine %v", errDefaults, ofTemplate, ofObject)
	}
	return nil
}

func (w *world) clusterFromTemplate(ctx context.Context) error {
	if w.provider.Objects.ClusterTemplate == nil {
		return notApplicableError("Objects have no ClusterTemplate")
	}
	template := w.like(w.provider.Objects.ClusterTemplate, nameOfTemplate)
	if err := w.create(ctx, template); err != nil {
		return err
	}
	_, err := w.created(ctx, template)
	return err
}

func (w *world) createDeployment(ctx context.Context) error {
	if err := w.createSecret(ctx, nameOfTemplate); err != nil {
		return err
	}
	labels := map[string]string{clusterv1.ClusterNameLabel: nameOfCluster, clusterv1.MachineDeploymentNameLabel: nameOfTemplate}
	return w.create(ctx, &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: nameOfTemplate},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: nameOfCluster, Replicas: ptr.To[int32](1), Selector: metav1.LabelSelector{MatchLabels: labels},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec: clusterv1.MachineSpec{
					ClusterName: nameOfCluster, Version: w.provider.KubernetesVersion,
					Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To(nameOfTemplate)},
					InfrastructureRef: reference(w.provider.Objects.MachineTemplate.GroupVersionKind(), nameOfTemplate),
				},
			},
		},
	})
}

// machineFromTemplate waits for the machine of the MachineDeployment, with the label of the template.
func (w *world) machineFromTemplate(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(w.provider.Objects.Machine.GroupVersionKind())
	return w.eventually(ctx, "see a machine of the template", func(ctx context.Context) error {
		if err := w.api.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		made := slices.ContainsFunc(list.Items, func(o unstructured.Unstructured) bool { return o.GetLabels()[templateLabel] != "" })
		if !made {
			deployment := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: nameOfTemplate}}
			return fmt.Errorf("%w with the labels of spec.template.metadata, among %d: %v", errNone, len(list.Items), w.conditionsOf(ctx, deployment))
		}
		return nil
	})
}

func (w *world) conditionsOf(ctx context.Context, deployment *clusterv1.MachineDeployment) []metav1.Condition {
	if err := w.get(ctx, deployment); err != nil {
		return nil
	}
	return deployment.Status.Conditions
}
