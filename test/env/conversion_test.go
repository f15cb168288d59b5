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

package env_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"sigs.k8s.io/cluster-api/controllers/crdmigrator"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationConversion has a real API server ask the conversion webhook.
func TestIntegrationConversion(t *testing.T) {
	t.Parallel()
	config := env.Start(t)
	scheme := builders.Scheme(t)
	must.Succeed(t, errors.Join(infrav1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)))
	config.WarningHandler = rest.NoWarnings{}
	api := must.Get(client.New(config, client.Options{Scheme: scheme}))(t)
	checkOldClient(t, api)
	checkMigration(t, config, api)
}

// checkOldClient: a client of the old version that reads an object, changes it and writes
// it back does not remove what it does not know.
func checkOldClient(t *testing.T, api client.Client) {
	t.Helper()
	resources := infrav1.MachineResources{CPU: ptr.To(resource.MustParse("2")), Memory: ptr.To(resource.MustParse("4Gi")), Pids: 5000}
	stored := &infrav1.ContainerMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old-client"},
		Spec:       infrav1.ContainerMachineSpec{ContainerMachineCommonSpec: infrav1.ContainerMachineCommonSpec{Image: "node:v1", Resources: resources}},
	}
	must.Succeed(t, api.Create(t.Context(), stored))
	old := &infrav1alpha1.ContainerMachine{}
	must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(stored), old))
	if old.Spec.Image != "node:v1" {
		t.Errorf("an old client reads the image %q", old.Spec.Image)
	}
	old.Labels = map[string]string{"written-by": "update"}
	old.Spec.BootstrapTimeout = &metav1.Duration{Duration: time.Hour}
	must.Succeed(t, api.Update(t.Context(), old))
	applied := &infrav1alpha1.ContainerMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1alpha1.GroupVersion.String(), Kind: "ContainerMachine"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old-client", Annotations: map[string]string{"written-by": "apply"}},
	}
	//nolint:staticcheck // Apply wants generated types, which these kinds do not have.
	must.Succeed(t, api.Patch(t.Context(), applied, client.Apply, client.FieldOwner("old")))
	must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
	want := infrav1.ContainerMachineCommonSpec{Image: "node:v1", Resources: resources, BootstrapTimeout: &metav1.Duration{Duration: time.Hour}}
	if diff := cmp.Diff(want, stored.Spec.ContainerMachineCommonSpec); diff != "" {
		t.Errorf("spec after an update by an old client (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"written-by": "apply"}, stored.Annotations); diff != "" {
		t.Errorf("annotations after an update by an old client (-want +got):\n%s", diff)
	}
	if stored.Labels["written-by"] != "update" {
		t.Errorf("labels after an update by an old client: %v", stored.Labels)
	}
}

// checkMigration: objects that an earlier release stored are stored in the current version
// some time after the upgrade.
func checkMigration(t *testing.T, config *rest.Config, api client.Client) {
	t.Helper()
	var names []string
	for object := range controllers.Migrations() {
		kind := must.Get(api.GroupVersionKindFor(object))(t)
		mapping := must.Get(api.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version))(t)
		names = append(names, mapping.Resource.GroupResource().String())
	}
	if len(names) != 6 {
		t.Errorf("kinds that are migrated: %v, want all six", names)
	}
	for _, name := range names {
		store(t, api, name, infrav1alpha1.GroupVersion.Version)
	}
	must.Succeed(t, api.Create(t.Context(), &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stored-before"}}))
	for _, name := range names {
		store(t, api, name, infrav1.GroupVersion.Version)
	}
	mgr := must.Get(ctrl.NewManager(config, ctrl.Options{
		Scheme: api.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
	}))(t)
	migrator := &crdmigrator.CRDMigrator{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Config: controllers.Migrations()}
	must.Succeed(t, migrator.SetupWithManager(t.Context(), mgr, controller.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		must.Succeed(t, <-ended)
	})
	must.Eventually(t, time.Minute, "all kinds are stored in the current version", func(ctx context.Context) error {
		for _, name := range names {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := api.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
				return err
			}
			if stored := definition.Status.StoredVersions; !slices.Equal(stored, []string{infrav1.GroupVersion.Version}) {
				return fmt.Errorf("%s is stored in %v", name, stored)
			}
		}
		return nil
	})
}

// store makes a version the one that is stored.
func store(t *testing.T, api client.Client, name, version string) {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	must.Succeed(t, api.Get(t.Context(), client.ObjectKey{Name: name}, definition))
	for i := range definition.Spec.Versions {
		definition.Spec.Versions[i].Storage = definition.Spec.Versions[i].Name == version
	}
	must.Succeed(t, api.Update(t.Context(), definition))
}
