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

package bootstrap

// Adaptation is what kubeadm's documents need in a container. Keys the user gave are kept; only missing ones are added.
type Adaptation struct {
	// IgnorePreflightErrors are added to nodeRegistration.ignorePreflightErrors of InitConfiguration and
	// JoinConfiguration.
	IgnorePreflightErrors []string
	// KubeProxyConntrack are keys below conntrack of the KubeProxyConfiguration that goes with a kubeadm init, with
	// values as YAML scalars. The document is added where there is none.
	KubeProxyConntrack map[string]string
}

// ContainerAdaptation returns the adaptation every node in a container needs. The caller may change it.
func ContainerAdaptation() Adaptation {
	return Adaptation{}
}

// AdaptKubeadm adapts kubeadm's documents (v1beta3 and v1beta4) in doc. It edits the YAML, so that order and comments
// stay; ClusterConfiguration is never touched. What holds no InitConfiguration or JoinConfiguration is returned byte
// for byte.
//
// The error is an *InvalidError: doc claims to be a kubeadm document and is broken.
func AdaptKubeadm(doc []byte, a Adaptation) ([]byte, error) {
	return nil, errNotImplemented
}

// Adapt returns a copy of the configuration in which AdaptKubeadm was applied to every file that holds kubeadm's
// documents. The receiver is not changed.
func (c Config) Adapt(a Adaptation) (Config, error) {
	return Config{}, errNotImplemented
}

// KubeadmOperation says what kubeadm will do with the files of the configuration.
func (c Config) KubeadmOperation() KubeadmOperation {
	return KubeadmNone
}

// ProviderID returns the value of --provider-id the user gave the kubelet, in kubeadm's nodeRegistration or in
// /etc/default/kubelet. It wins over the provider's, and ok is false when the user gave none.
func (c Config) ProviderID() (id string, ok bool) {
	return "", false
}
