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

package storage

import (
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

var (
	// EnsureClass is ensureClass.
	EnsureClass = ensureClass
	// RunWithClient is Run with a client.
	RunWithClient = run
)

// QualifyingProvisioner decides which claims it provisions.
type QualifyingProvisioner interface {
	controller.Provisioner
	controller.Qualifier
}

// NewProvisioner returns the provisioner that Run uses.
func NewProvisioner(client kubernetes.Interface, clock clock.PassiveClock, options Options) QualifyingProvisioner {
	return &provisioner{Options: options, client: client, clock: clock}
}
