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

package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/contract"
)

// errNoContract: a CRD does not say which of its versions follow a contract.
var errNoContract = errors.New("CRD has no label of a supported Cluster API contract")

// contracts that this Cluster API understands, best first.
var contracts = []string{"v1beta2", "v1beta1"}

// apiVersions finds the version of a kind by the contract label of its CRD.
// Cluster API has the same internally.
type apiVersions struct {
	reader client.Reader
}

func (a apiVersions) get(ctx context.Context, kind schema.GroupKind) (string, error) {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crd.SetName(contract.CalculateCRDName(kind.Group, kind.Kind))
	if err := a.reader.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		return "", fmt.Errorf("get CRD of %s: %w", kind, err)
	}
	served, err := servedVersion(crd.GetLabels())
	if err != nil {
		return "", fmt.Errorf("find version of %s: %w", kind, err)
	}
	return schema.GroupVersion{Group: kind.Group, Version: served}.String(), nil
}

// servedVersion is the highest version of the best contract among a CRD's
// labels.
func servedVersion(labels map[string]string) (string, error) {
	for _, c := range contracts {
		versions := strings.Split(labels[clusterv1.GroupVersion.Group+"/"+c], "_")
		if highest := slices.MaxFunc(versions, version.CompareKubeAwareVersionStrings); highest != "" {
			return highest, nil
		}
	}
	return "", errNoContract
}
