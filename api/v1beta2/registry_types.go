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

package v1beta2

// Registry says how the nodes of a cluster pull the images of a registry. It is
// containerd's hosts.toml, which containerd reads with each pull: a change needs no new
// nodes.
type Registry struct {
	// host of the registry as it begins the names of images, such as docker.io,
	// registry.example.com or localhost:5001; "*" is every registry that the list does
	// not name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=261
	Host string `json:"host,omitempty"`

	// mirrors are tried for images in this order, and the registry itself last.
	// +optional
	// +listType=map
	// +listMapKey=url
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Mirrors []RegistryMirror `json:"mirrors,omitempty"`

	// caBundle are certificates in PEM of the authorities that sign the registry's
	// certificate; by default those that the node image trusts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`

	// credentialsSecretName is a Secret of type kubernetes.io/dockerconfigjson in the
	// namespace of the cluster, as "kubectl create secret docker-registry" makes it. It
	// has the credentials of the registry and of those mirrors that need some. The nodes
	// have a copy of it; a change arrives within a minute.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CredentialsSecretName string `json:"credentialsSecretName,omitempty"`
}

// RegistryMirror is a registry that has the images of another one, or gets them from it
// on the first request (a pull-through cache).
type RegistryMirror struct {
	// url of the mirror, such as http://172.18.0.5:5000. Where its path contains /v2/, it
	// is the whole prefix of requests, as for a project of Harbor.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=512
	URL string `json:"url,omitempty"`

	// caBundle are certificates in PEM of the authorities that sign the mirror's
	// certificate; by default those that the node image trusts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
}
