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

package repository

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// servingCertificates is where controller-runtime, and so the manager's flag
// --webhook-cert-dir, looks by default.
const servingCertificates = "/tmp/k8s-webhook-server/serving-certs"

// webhook is what mutating and validating webhooks have in common.
type webhook struct {
	name   string
	client admissionregistrationv1.WebhookClientConfig
	rules  []admissionregistrationv1.RuleWithOperations
	policy *admissionregistrationv1.FailurePolicyType
	match  *admissionregistrationv1.MatchPolicyType
}

func validating(t *testing.T, objects []*unstructured.Unstructured) []webhook {
	t.Helper()
	var found []webhook
	for _, w := range one[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration").Webhooks {
		found = append(found, webhook{w.Name, w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy})
	}
	return found
}

func mutating(t *testing.T, objects []*unstructured.Unstructured) []webhook {
	t.Helper()
	var found []webhook
	for _, w := range one[admissionregistrationv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration").Webhooks {
		found = append(found, webhook{w.Name, w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy})
	}
	return found
}

// Each kind is validated, whole and only it: controllers write status often, and
// everything may be deleted.
func TestWebhooksAreAskedAboutAllKinds(t *testing.T) {
	t.Parallel()
	objects := build(t, "default")
	var validated []string
	for _, w := range append(validating(t, objects), mutating(t, objects)...) {
		if len(w.rules) != 1 || len(w.rules[0].Resources) != 1 {
			t.Fatalf("%s has the rules %v, want one of one resource", w.name, w.rules)
		}
		rule := w.rules[0]
		resource := rule.Resources[0]
		if strings.HasPrefix(w.name, "validation.") {
			validated = append(validated, resource)
		}
		if want := []admissionregistrationv1.OperationType{"CREATE", "UPDATE"}; !slices.Equal(rule.Operations, want) {
			t.Errorf("%s is asked on %v, want %v", w.name, rule.Operations, want)
		}
		if strings.Contains(resource, "/") || rule.APIGroups[0] != infrav1.GroupVersion.Group || rule.APIVersions[0] != infrav1.GroupVersion.Version {
			t.Errorf("%s is asked about %v", w.name, rule)
		}
		if ptr.Deref(w.policy, "") != admissionregistrationv1.Fail || ptr.Deref(w.match, "") != admissionregistrationv1.Equivalent {
			t.Errorf("%s may be passed by: %v, %v", w.name, ptr.Deref(w.policy, ""), ptr.Deref(w.match, ""))
		}
	}
	var defined []string
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			resource, _, _ := strings.Cut(object.GetName(), ".")
			defined = append(defined, resource)
		}
	}
	slices.Sort(defined)
	slices.Sort(validated)
	if diff := cmp.Diff(defined, validated); diff != "" {
		t.Errorf("Kinds that are defined (-) and validated (+):\n%s", diff)
	}
}

// The way from the API server to the manager.
func TestWebhooksAreReached(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			objects := build(t, overlay)
			service := one[corev1.Service](t, objects, "Service")
			for _, w := range append(validating(t, objects), mutating(t, objects)...) {
				if got := w.client.Service; got == nil || got.Name != service.Name || got.Namespace != service.Namespace {
					t.Errorf("%s is looked for at %v, and the Service is %s/%s", w.name, got, service.Namespace, service.Name)
				}
			}
			template := one[appsv1.Deployment](t, objects, "Deployment").Spec.Template
			for label, value := range service.Spec.Selector {
				if template.Labels[label] != value {
					t.Errorf("The Service selects Pods with %s=%s, and the manager's have %v", label, value, template.Labels)
				}
			}
			manager := template.Spec.Containers[0]
			port := slices.IndexFunc(manager.Ports, func(p corev1.ContainerPort) bool { return p.Name == service.Spec.Ports[0].TargetPort.StrVal })
			if port < 0 || manager.Ports[port].ContainerPort != 9443 {
				t.Errorf("The Service leads to %v, and the manager has %v", service.Spec.Ports[0].TargetPort, manager.Ports)
			}
		})
	}
}

// The certificate of the webhooks: cert-manager makes it for the Service, into
// the Secret that the manager mounts, and injects it into the webhook configurations.
func TestWebhooksHaveTheirCertificate(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			objects := build(t, overlay)
			service := one[corev1.Service](t, objects, "Service")
			certificate, issuer := find(t, objects, "Certificate"), find(t, objects, "Issuer")
			names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
			host := service.Name + "." + service.Namespace + ".svc"
			if want := []string{host, host + ".cluster.local"}; !slices.Equal(names, want) {
				t.Errorf("The certificate is for %q, want %q", names, want)
			}
			if name, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name"); name != issuer.GetName() {
				t.Errorf("The certificate is to be issued by %s, and the Issuer is %s", name, issuer.GetName())
			}
			secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
			if directory := mountOf(t, one[appsv1.Deployment](t, objects, "Deployment"), secret); directory != servingCertificates {
				t.Errorf("The Secret %s is mounted at %q, want %s", secret, directory, servingCertificates)
			}
			for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
				want := map[string]string{"cert-manager.io/inject-ca-from": path.Join(certificate.GetNamespace(), certificate.GetName())}
				if got := find(t, objects, kind).GetAnnotations(); !maps.Equal(got, want) {
					t.Errorf("%s has the annotations %v, want %v", kind, got, want)
				}
			}
		})
	}
}

func find(t *testing.T, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	at := slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == kind })
	if at < 0 {
		t.Fatalf("There is no %s", kind)
	}
	return objects[at]
}

// mountOf returns where the manager sees a Secret.
func mountOf(t *testing.T, deployment appsv1.Deployment, secret string) string {
	t.Helper()
	pod := deployment.Spec.Template.Spec
	for _, volume := range pod.Volumes {
		if volume.Secret == nil || volume.Secret.SecretName != secret {
			continue
		}
		for _, mount := range pod.Containers[0].VolumeMounts {
			if mount.Name == volume.Name {
				return strings.TrimSuffix(mount.MountPath, "/")
			}
		}
	}
	return ""
}
