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

package containerengine

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/engineobject"
)

// blockedByCredentials is the value of the annotation that keeps clusterctl from moving an engine without its
// Secret. Others have a value of their own.
const blockedByCredentials = "credentials"

// readCredentials reads the Secret each time: Secrets are not watched. Without it, the engine is not
// used; one that is being deleted continues with the credentials it has, since a namespace is deleted in any order.
func (r *Reconciler) readCredentials(ctx context.Context, s *scope) error {
	name := client.ObjectKeyFromObject(s.engine)
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.engine.Namespace, Name: s.engine.Spec.CredentialsSecretName}, secret)
	if apierrors.IsNotFound(err) {
		if !s.engine.DeletionTimestamp.IsZero() && r.Engines.Connection(name) != nil {
			return nil
		}
		err := fmt.Errorf("spec.credentialsSecretName: Secret %q is not found", s.engine.Spec.CredentialsSecretName)
		r.Engines.Suspend(name, err)
		return s.unreachable(infrav1.EngineCredentialsInvalidReason, err, probeInterval)
	}
	if err != nil {
		return fmt.Errorf("get Secret of ContainerEngine: %w", err)
	}
	s.secret = secret
	s.target = engines.Target{At: s.at, Credentials: engineobject.CredentialsOf(secret.Data)}
	s.target.Placement = engines.Placement{
		AdvertiseAddress: cmp.Or(s.engine.Spec.AdvertiseAddress, s.at.Host), FailureDomain: s.engine.Spec.FailureDomain,
		Maintenance: ptr.Deref(s.engine.Spec.Maintenance, false),
	}
	s.target.Digest, err = engineobject.Digest(s.target.Credentials)
	return err //nolint:wrapcheck // It says what was encoded.
}

// blockMove keeps "clusterctl move" from moving the engine while it would leave the Secret behind. The
// manager cannot label it: it may not change Secrets.
func (r *Reconciler) blockMove(_ context.Context, s *scope) error {
	annotations := s.engine.Annotations
	value, isBlocked := annotations[clusterctlv1.BlockMoveAnnotation]
	switch moves := s.secret == nil || isMoved(s.secret, s.engine); {
	case moves && value == blockedByCredentials:
		delete(annotations, clusterctlv1.BlockMoveAnnotation)
	case !moves && !isBlocked:
		metav1.SetMetaDataAnnotation(&s.engine.ObjectMeta, clusterctlv1.BlockMoveAnnotation, blockedByCredentials)
	}
	return nil
}

// isMoved reports whether clusterctl moves the Secret of an engine: by a label of its own, or with the engine that
// its author made an owner of it.
func isMoved(secret *corev1.Secret, engine *infrav1.ContainerEngine) bool {
	for _, label := range []string{clusterctlv1.ClusterctlMoveLabel, clusterctlv1.ClusterctlMoveHierarchyLabel} {
		if _, isLabeled := secret.Labels[label]; isLabeled {
			return true
		}
	}
	for _, reference := range secret.OwnerReferences {
		if reference.UID == engine.UID {
			return true
		}
	}
	return false
}
