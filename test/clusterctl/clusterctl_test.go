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

package clusterctl_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	root = "../.."
	// version of the release that is made up.
	version = "v0.1.99"
)

// TestIntegrationClusterctl does what a user does before there is a cluster, on
// an API server that has nothing: init, and generate cluster with each flavor.
// No Pod runs there, so the test waits for none; what is real is clusterctl, its
// checks, the API server with its schemas, and every object that is installed. That
// what is installed runs is proven by the e2e suite on kind.
func TestIntegrationClusterctl(t *testing.T) {
	t.Parallel()
	config := env.StartEmpty(t)
	program := clusterctl.New(t, root)
	repository := program.NewRepository(root, version)
	kubeconfig := program.Kubeconfig(config)
	api := connect(t, config)

	needsCertManager(t, program, repository, api)
	must.Get(program.Run(t.Context(), "init", "--kubeconfig", kubeconfig, "--infrastructure", "container"))(t)
	removeWebhooks(t, api)
	flavors := repository.Files("cluster-template*.yaml")
	if len(flavors) == 0 {
		t.Fatal("the release has no flavors")
	}
	for _, path := range flavors {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{
				"generate", "cluster", "demo", "--kubeconfig", kubeconfig, "--kubernetes-version", "v1.36.3",
				"--control-plane-machine-count", "1", "--worker-machine-count", "2",
			}
			if flavor, named := strings.CutPrefix(name, "cluster-template-"); named {
				args = append(args, "--flavor", flavor)
			}
			const image = "registry.example.com/node:1"
			for _, given := range []string{"", image} {
				generated := must.Get(program.With("CONTAINER_NODE_IMAGE="+given).Run(t.Context(), args...))(t)
				accepted(t, api, generated)
				for _, text := range []string{image, "kindest/node"} {
					if has := strings.Contains(string(generated), text); has != (given == text) {
						t.Errorf("With CONTAINER_NODE_IMAGE=%q, that %s is named is %t", given, text, has)
					}
				}
			}
		})
	}
}

func connect(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	must.Succeed(t, errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme)))
	return must.Get(client.New(config, client.Options{Scheme: scheme}))(t)
}

// needsCertManager: without it, the API server refuses its objects among the components
// and no others. Only clusterctl init installs it by itself.
func needsCertManager(t *testing.T, program *clusterctl.Clusterctl, repository *clusterctl.Repository, api client.Client) {
	t.Helper()
	content := must.Get(os.ReadFile(repository.Files("infrastructure-components.yaml")[0]))(t)
	components := must.Get(program.Pipe(t.Context(), content, "generate", "yaml"))(t)
	refused := []string{}
	for _, object := range clusterctl.Decode(t, components) {
		// Without their namespace, which is not created here, objects are refused as well.
		if err := api.Create(t.Context(), object, client.DryRunAll); meta.IsNoMatchError(err) {
			refused = append(refused, err.Error())
		}
	}
	slices.Sort(refused)
	want := []string{
		`no matches for kind "Certificate" in version "cert-manager.io/v1"`,
		`no matches for kind "Issuer" in version "cert-manager.io/v1"`,
	}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("Refused without cert-manager (-want +got):\n%s", diff)
	}
}

// removeWebhooks, because no manager serves them here and they would refuse everything.
func removeWebhooks(t *testing.T, api client.Client) {
	t.Helper()
	for _, name := range []string{"capcon-mutating-webhook-configuration", "capi-mutating-webhook-configuration"} {
		if err := api.Get(t.Context(), client.ObjectKey{Name: name}, &admissionregistrationv1.MutatingWebhookConfiguration{}); err != nil {
			t.Errorf("get webhooks: %v", err)
		}
	}
	for _, configuration := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		must.Succeed(t, api.DeleteAllOf(t.Context(), configuration))
	}
}

// accepted: the API server would take every object, strictly.
func accepted(t *testing.T, api client.Client, manifest []byte) {
	t.Helper()
	objects := clusterctl.Decode(t, manifest)
	if len(objects) == 0 {
		t.Fatal("nothing was generated")
	}
	clusters := 0
	for _, object := range objects {
		if object.GetKind() == "Cluster" {
			clusters++
		}
		if object.GetNamespace() != metav1.NamespaceDefault {
			t.Errorf("%s %s is in the namespace %q", object.GetKind(), object.GetName(), object.GetNamespace())
		}
		fillIn(t, object)
		if err := tryToCreate(t.Context(), api, object); err != nil {
			t.Errorf("%s %s would be refused: %v", object.GetKind(), object.GetName(), err)
		}
	}
	if clusters != 1 {
		t.Errorf("%d Clusters were generated, want 1", clusters)
	}
}

// fillIn what Cluster API's webhooks would, and its schemas require.
func fillIn(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if object.GetKind() != "MachineDeployment" {
		return
	}
	must.Succeed(t, unstructured.SetNestedMap(object.Object, map[string]any{}, "spec", "selector"))
}

// tryToCreate an object, again as long as the API server calls webhooks whose
// deletion it has not seen yet.
func tryToCreate(ctx context.Context, api client.Client, object client.Object) error {
	var refusal error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		tried, _ := object.DeepCopyObject().(client.Object)
		refusal = api.Create(ctx, tried, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		return !apierrors.IsInternalError(refusal), nil
	})
	return errors.Join(refusal, err)
}
