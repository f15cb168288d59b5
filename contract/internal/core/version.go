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

package core

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

// errNoContract means that a CRD does not say which of its versions follow the contract.
var errNoContract = errors.New("its CRD has no label of a contract")

// versions finds the version of a kind by the label of its CRD. Cluster API's own is internal.
type versions struct {
	reader client.Reader
}

func (v versions) get(ctx context.Context, kind schema.GroupKind) (string, error) {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crd.SetName(contract.CalculateCRDName(kind.Group, kind.Kind))
	if err := v.reader.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		return "", fmt.Errorf("get CRD of %s: %w", kind, err)
	}
	for _, of := range []string{"v1beta2", "v1beta1"} {
		labeled := strings.Split(crd.GetLabels()[clusterv1.GroupVersion.Group+"/"+of], "_")
		if highest := slices.MaxFunc(labeled, version.CompareKubeAwareVersionStrings); highest != "" {
			return schema.GroupVersion{Group: kind.Group, Version: highest}.String(), nil
		}
	}
	return "", fmt.Errorf("find version of %s: %w", kind, errNoContract)
}
