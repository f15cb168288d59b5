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

package manifests

import (
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

// inventoryNamespace is where this provider's components lie in a management
// cluster that clusterctl initialized. The plane has no components; all its
// providers are recorded in this one.
const inventoryNamespace = "capcon-system"

// capiVersion of the module whose controllers are compiled in.
//
//go:embed capi/inventory/version
var capiVersion string

// inventory is what "clusterctl init" would have recorded: clusterctl reads the
// providers of a management cluster and their versions there.
func inventory() ([]*unstructured.Unstructured, error) {
	recorded := []runtime.Object{&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: kindNamespace},
		ObjectMeta: metav1.ObjectMeta{Name: inventoryNamespace},
	}}
	for _, provider := range []clusterctlv1.Provider{
		{ProviderName: "cluster-api", Type: string(clusterctlv1.CoreProviderType), Version: capiVersion},
		{ProviderName: "kubeadm", Type: string(clusterctlv1.BootstrapProviderType), Version: capiVersion},
		{ProviderName: "kubeadm", Type: string(clusterctlv1.ControlPlaneProviderType), Version: capiVersion},
		{ProviderName: "container", Type: string(clusterctlv1.InfrastructureProviderType), Version: release.Provider()},
	} {
		provider.APIVersion, provider.Kind = clusterctlv1.GroupVersion.String(), kindProvider
		provider.Namespace, provider.Name = inventoryNamespace, provider.ManifestLabel()
		provider.Labels = map[string]string{
			clusterv1.ProviderNameLabel:      provider.ManifestLabel(),
			clusterctlv1.ClusterctlCoreLabel: clusterctlv1.ClusterctlCoreLabelInventoryValue,
		}
		recorded = append(recorded, &provider)
	}
	objects := make([]*unstructured.Unstructured, 0, len(recorded))
	for _, object := range recorded {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("convert %T: %w", object, err)
		}
		delete(content, "status")
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(content, "spec")
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, nil
}
