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

// Package pki keeps the keys, certificates and tokens of the management plane
// in a directory: authorities and tokens are made once and kept, certificates
// are issued for a limited time and renewed before it ends.
//
// A certificate and its key lie in one file, which every component here takes
// as both, and which is replaced in one step: no component ever reads a new
// certificate with an old key.
//
// Users of the API server prove who they are by a token that stays the same,
// not by a certificate: a kubeconfig printed once stays valid through
// every renewal, there is no connection that ends with the certificate it was
// opened with, and a token leaves with the plane's state, while a certificate
// with the same long life could not be revoked either.
package pki
