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

// Package v1alpha1 has the kinds of the provider, as Cluster API's contract v1beta2 needs them.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of all kinds.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1"} //nolint:gochecknoglobals // As in all APIs of Kubernetes.

// AddToScheme adds all kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(
		GroupVersion,
		&SampleCluster{}, &SampleClusterList{}, &SampleClusterTemplate{}, &SampleClusterTemplateList{},
		&SampleMachine{}, &SampleMachineList{}, &SampleMachineTemplate{}, &SampleMachineTemplateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Initialization is what Cluster API reads to continue.
// +kubebuilder:validation:MinProperties=1
type Initialization struct {
	// provisioned is true when the infrastructure exists. It stays true.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}
