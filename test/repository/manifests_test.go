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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	utilcontract "sigs.k8s.io/cluster-api/util/contract"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
)

const (
	// contract that the provider follows.
	contract = "v1beta2"
	// provider is the value of the provider's label on all its components.
	provider = "infrastructure-container"
)

// The overlays that a user applies.
func overlays() []string { return []string{"default", "docker-socket", "podman-socket"} }

func TestComponentsAreWhatClusterctlWants(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			objects := build(t, overlay)
			var namespaces []string
			for _, object := range objects {
				if got := object.GetLabels()[clusterv1.ProviderNameLabel]; got != provider {
					t.Errorf("%s has the provider label %q, want %q", name(object), got, provider)
				}
				if object.GetKind() == "Namespace" {
					namespaces = append(namespaces, object.GetName())
				}
			}
			if len(namespaces) != 1 {
				t.Fatalf("clusterctl wants one Namespace; there are %q", namespaces)
			}
			for _, object := range objects {
				if got := object.GetNamespace(); got != "" && got != namespaces[0] {
					t.Errorf("%s is in the namespace %q, want %q", name(object), got, namespaces[0])
				}
			}
		})
	}
}

func TestManagerIsADeploymentWithTheContainerManager(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			deployment := one[appsv1.Deployment](t, build(t, overlay), "Deployment")
			containers := deployment.Spec.Template.Spec.Containers
			if len(containers) != 1 || containers[0].Name != "manager" {
				t.Fatalf("The Deployment has not exactly one container, named manager, but %d", len(containers))
			}
			// clusterctl refuses others, which then cannot be overridden.
			if host, _, _ := strings.Cut(containers[0].Image, "/"); host != "localhost" && !strings.ContainsAny(host, ".:") {
				t.Errorf("The image %s does not begin with a host", containers[0].Image)
			}
			security := containers[0].SecurityContext
			if !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation {
				t.Error("The manager can write to its root file system or gain privileges")
			}
			if !slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(security.Capabilities.Add) != 0 {
				t.Error("The manager has capabilities")
			}
		})
	}
}

func TestDefinitionsFollowTheContract(t *testing.T) {
	t.Parallel()
	kinds := []string{}
	for _, object := range build(t, "default") {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		definition := into[apiextensionsv1.CustomResourceDefinition](t, object)
		kind := definition.Spec.Names.Kind
		kinds = append(kinds, kind)
		if want := utilcontract.CalculateCRDName(infrav1.GroupVersion.Group, kind); definition.Name != want {
			t.Errorf("Core looks for the definition of %s by the name %s; it is %s", kind, want, definition.Name)
		}
		versions := "v1alpha1_v1beta2"
		if kind == "ContainerEngine" { // there was none before
			versions = "v1beta2"
		}
		if got := definition.Labels[clusterv1.GroupVersion.Group+"/"+contract]; got != versions {
			t.Errorf("%s says that it follows %s with %q, want %s", definition.Name, contract, got, versions)
		}
		// clusterctl moves engines that no Cluster owns, with their Secrets.
		if _, moved := definition.Labels[clusterctlv1.ClusterctlMoveHierarchyLabel]; moved != (kind == "ContainerEngine") {
			t.Errorf("%s is moved by itself: %t", definition.Name, moved)
		}
		// Cluster API Visualizer shows objects of kinds with this label that also have that of their Cluster.
		if _, shown := definition.Labels["visualizer.cluster.x-k8s.io"]; shown != slices.Contains([]string{"ContainerCluster", "ContainerMachine", "ContainerMachinePool"}, kind) {
			t.Errorf("%s is shown by Cluster API Visualizer: %t", definition.Name, shown)
		}
		if c := definition.Spec.Conversion; c == nil || c.Webhook == nil || c.Webhook.ClientConfig.Service.Name != "capcon-webhook-service" {
			t.Errorf("%s has the conversion %+v, want the manager's webhook", definition.Name, c)
		}
		if definition.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s is not namespaced", definition.Name)
		}
	}
	slices.Sort(kinds)
	want := []string{
		"ContainerCluster", "ContainerClusterTemplate", "ContainerEngine", "ContainerMachine", "ContainerMachinePool",
		"ContainerMachinePoolTemplate", "ContainerMachineTemplate",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("Definitions of %q, want %q", kinds, want)
	}
}

// Core and the kubeadm control plane aggregate by a label of their own each.
func TestClusterAPIMayWorkOnAllKinds(t *testing.T) {
	t.Parallel()
	objects := build(t, "default")
	role := aggregated(t, objects)
	if len(role.Rules) != 1 {
		t.Fatalf("%s has %d rules, want 1", role.Name, len(role.Rules))
	}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		resource, _, _ := strings.Cut(object.GetName(), ".")
		if !slices.Contains(role.Rules[0].Resources, resource) {
			t.Errorf("%s does not give Cluster API %s", role.Name, resource)
		}
	}
	for _, verb := range []string{"create", "delete", "get", "list", "patch", "update", "watch"} {
		if !slices.Contains(role.Rules[0].Verbs, verb) {
			t.Errorf("%s does not let Cluster API %s", role.Name, verb)
		}
	}
}

// The manager may update the finalizers of the objects that it makes owners. Templates it
// may write once more, for the migration of stored objects, and neither create nor delete.
func TestRoleOfTheManager(t *testing.T) {
	t.Parallel()
	var finalizers []string
	for _, rule := range roleOfTheManager(t).Rules {
		for _, resource := range rule.Resources {
			kind, sub, _ := strings.Cut(resource, "/")
			if sub == "finalizers" && slices.Contains(rule.Verbs, "update") {
				finalizers = append(finalizers, kind)
			}
			if strings.HasSuffix(kind, "templates") && sub == "" && slices.ContainsFunc(rule.Verbs, func(verb string) bool { return strings.HasPrefix(verb, "create") || strings.HasPrefix(verb, "delete") }) {
				t.Errorf("The manager may %v %s", rule.Verbs, resource)
			}
		}
	}
	slices.Sort(finalizers)
	if want := []string{"containerclusters", "containerengines", "containermachinepools", "containermachines"}; !slices.Equal(finalizers, want) {
		t.Errorf("The manager may update the finalizers of %v, want %v", finalizers, want)
	}
}

func roleOfTheManager(t *testing.T) rbacv1.ClusterRole {
	t.Helper()
	for _, object := range build(t, "default") {
		if object.GetKind() == "ClusterRole" && strings.HasSuffix(object.GetName(), "manager-role") {
			return into[rbacv1.ClusterRole](t, object)
		}
	}
	t.Fatal("The manager has no role")
	return rbacv1.ClusterRole{}
}

// The manager of that overlay talks to the engine that its own host runs on, as
// that of another management cluster on the host does.
func TestSocketOfTheHost(t *testing.T) {
	t.Parallel()
	pod := one[appsv1.Deployment](t, build(t, "docker-socket"), "Deployment").Spec.Template.Spec
	const socket = "/var/run/docker.sock"
	mounted := ""
	for _, volume := range pod.Volumes {
		if volume.HostPath == nil || volume.HostPath.Path != socket {
			continue
		}
		for _, mount := range pod.Containers[0].VolumeMounts {
			if mount.Name == volume.Name {
				mounted = mount.MountPath
			}
		}
	}
	asked := slices.ContainsFunc(pod.Containers[0].Env, func(env corev1.EnvVar) bool {
		return env.Name == "DOCKER_HOST" && env.Value == "unix://"+mounted
	})
	if mounted == "" || !asked {
		t.Errorf("%s of the host is mounted at %q, and the environment is %v", socket, mounted, pod.Containers[0].Env)
	}
}

// TestSocketOfAHostWithSELinux: only containers of the type spc_t may open the
// engine's socket there.
func TestSocketOfAHostWithSELinux(t *testing.T) {
	t.Parallel()
	for _, overlay := range []string{"docker-socket", "podman-socket"} {
		security := one[appsv1.Deployment](t, build(t, overlay), "Deployment").Spec.Template.Spec.SecurityContext
		if security.SELinuxOptions == nil || security.SELinuxOptions.Type != "spc_t" {
			t.Errorf("%s: SELinux options of the Pod: want the type spc_t, got %+v", overlay, security.SELinuxOptions)
		}
	}
}

func aggregated(t *testing.T, objects []*unstructured.Unstructured) rbacv1.ClusterRole {
	t.Helper()
	for _, object := range objects {
		labels := object.GetLabels()
		if labels["cluster.x-k8s.io/aggregate-to-manager"] == "true" &&
			labels["kubeadm.controlplane.cluster.x-k8s.io/aggregate-to-manager"] == "true" {
			return into[rbacv1.ClusterRole](t, object)
		}
	}
	t.Fatal("No role has both aggregation labels")
	return rbacv1.ClusterRole{}
}

// build runs kustomize, which is built at its pinned version where it is missing.
func build(t *testing.T, overlay string) []*unstructured.Unstructured {
	t.Helper()
	program, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "tool.sh"), "kustomize").Output()
	if err != nil {
		t.Fatalf("get kustomize: %v", err)
	}
	command := exec.CommandContext(t.Context(), strings.TrimSpace(string(program)), "build", filepath.Join(root, "config", overlay))
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("kustomize build config/%s: %v", overlay, err)
	}
	return clusterctl.Decode(t, output)
}

// one returns the only object of a kind.
func one[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) T {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == kind {
			found = append(found, object)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of kind %s, want 1", len(found), kind)
	}
	return into[T](t, found[0])
}

// into is strict: a misspelt field is an error.
func into[T any](t *testing.T, object *unstructured.Unstructured) T {
	t.Helper()
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
		t.Fatalf("read %s: %v", name(object), err)
	}
	return typed
}

func name(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}
