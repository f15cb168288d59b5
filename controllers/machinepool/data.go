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

package machinepool

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// readData of the MachinePool as far as there is any. The machine controller reports data that
// is invalid.
func (r *Reconciler) readData(ctx context.Context, s *scope) error {
	name := s.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName
	if name == nil {
		return nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.machinePool.Namespace, Name: *name}
	if err := client.IgnoreNotFound(r.Client.Get(ctx, key, secret)); err != nil {
		return fmt.Errorf("get bootstrap data Secret %q: %w", key.Name, err)
	}
	// Of no instance: what a template takes from it is not another configuration.
	config, err := bootstrap.Parse(secret.Data["value"], string(secret.Data["format"]), userdata.Instance{})
	if err != nil {
		return nil //nolint:nilerr // See above.
	}
	if s.dataHash, err = config.Hash(); err != nil {
		return fmt.Errorf("hash bootstrap data Secret %q: %w", key.Name, err)
	}
	return nil
}

// hasOtherData reports whether an instance was bootstrapped with other data than that of now, as
// far as that is recorded.
func (s *scope) hasOtherData(made *infrav1.ContainerMachine) bool {
	recorded := made.Annotations[infrav1.BootstrapDataHashAnnotation]
	return userdata.SameVersion(recorded, s.dataHash) && recorded != s.dataHash
}

// recordData on an instance that is new, or was created by a release that recorded nothing that
// can be compared.
func (s *scope) recordData(made *infrav1.ContainerMachine) {
	if s.dataHash != "" && !userdata.SameVersion(made.Annotations[infrav1.BootstrapDataHashAnnotation], s.dataHash) {
		metav1.SetMetaDataAnnotation(&made.ObjectMeta, infrav1.BootstrapDataHashAnnotation, s.dataHash)
	}
}
