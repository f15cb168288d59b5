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

// Package contract tests an infrastructure provider of Cluster API against the contract v1beta2, as
// a black box: it starts an API server, Cluster API's core controllers and the provider's manager,
// creates objects, and reports for each rule what it saw.
//
// A test of a provider is
//
//	func TestContract(t *testing.T) {
//		contract.Run(t, contract.Provider{
//			Name:      "example",
//			Manifests: []string{"../config/default"},
//			Command:   []string{"../bin/manager", "--webhook-port=${WEBHOOK_PORT}", "--webhook-cert-dir=${WEBHOOK_CERT_DIR}"},
//			Objects:   objects,
//		})
//	}
//
// etcd and kube-apiserver are those in the directory KUBEBUILDER_ASSETS, as with every test that uses
// envtest. The command in cmd/contract does the same from a file.
//
// Nothing here knows a provider. What is specific to one is in the Provider.
package contract
