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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// readCredentials reads the Secret each time: Secrets are not watched.
func (r *Reconciler) readCredentials(ctx context.Context, s *scope) error {
	name := client.ObjectKeyFromObject(s.engine)
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.engine.Namespace, Name: s.engine.Spec.CredentialsSecretName}, secret)
	if apierrors.IsNotFound(err) {
		err := fmt.Errorf("spec.credentialsSecretName: Secret %q is not found", s.engine.Spec.CredentialsSecretName)
		r.Engines.Disconnect(name, err)
		return s.unreachable(infrav1.EngineCredentialsInvalidReason, err, probeInterval)
	}
	if err != nil {
		return fmt.Errorf("get Secret of ContainerEngine: %w", err)
	}
	s.secret = secret
	s.target = engines.Target{At: s.at, Credentials: remote.Credentials{
		CA: secret.Data[infrav1.EngineCAKey], Certificate: secret.Data[infrav1.EngineCertificateKey], Key: secret.Data[infrav1.EngineKeyKey],
		SSHKey: secret.Data[infrav1.EngineSSHKeyKey], KnownHosts: secret.Data[infrav1.EngineKnownHostsKey],
	}}
	s.target.Placement = engines.Placement{
		AdvertiseAddress: cmp.Or(s.engine.Spec.AdvertiseAddress, s.at.Host), FailureDomain: s.engine.Spec.FailureDomain,
		Maintenance: ptr.Deref(s.engine.Spec.Maintenance, false),
	}
	s.target.Digest, err = digest(secret)
	return err
}

// digest of the keys of a Secret that are used.
func digest(secret *corev1.Secret) (string, error) {
	used := map[string][]byte{}
	for _, key := range []string{
		infrav1.EngineCAKey, infrav1.EngineCertificateKey, infrav1.EngineKeyKey, infrav1.EngineSSHKeyKey, infrav1.EngineKnownHostsKey,
	} {
		used[key] = secret.Data[key]
	}
	content, err := json.Marshal(used)
	if err != nil {
		return "", fmt.Errorf("encode credentials: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// keepCredentials makes the engine an owner of its Secret, so that "clusterctl move" moves it along, and
// keeps it while the engine is kept. A Secret that is being deleted can have no new finalizer.
func (r *Reconciler) keepCredentials(ctx context.Context, s *scope) error {
	before := s.secret.DeepCopy()
	owner := metav1.OwnerReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "ContainerEngine", Name: s.engine.Name, UID: s.engine.UID,
	}
	changed := s.secret.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(s.secret, infrav1.EngineCredentialsFinalizer)
	if !isOwner(s.secret, s.engine) {
		s.secret.OwnerReferences = append(s.secret.OwnerReferences, owner)
		changed = true
	}
	if !changed {
		return nil
	}
	// Engines that share a Secret must not replace each other's references.
	lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, s.secret, lock); err != nil {
		return fmt.Errorf("set owner of Secret %q: %w", s.secret.Name, err)
	}
	return nil
}

func isOwner(secret *corev1.Secret, owner *infrav1.ContainerEngine) bool {
	for _, reference := range secret.OwnerReferences {
		if reference.UID == owner.UID {
			return true
		}
	}
	return false
}

// releaseCredentials removes the finalizer of the Secret, unless another engine uses it.
func (r *Reconciler) releaseCredentials(ctx context.Context, released *infrav1.ContainerEngine) error {
	others := &infrav1.ContainerEngineList{}
	if err := r.Client.List(ctx, others, client.InNamespace(released.Namespace)); err != nil {
		return fmt.Errorf("list ContainerEngines: %w", err)
	}
	for i := range others.Items {
		if other := &others.Items[i]; other.UID != released.UID && other.Spec.CredentialsSecretName == released.Spec.CredentialsSecretName {
			return nil
		}
	}
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: released.Namespace, Name: released.Spec.CredentialsSecretName}, secret)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	before := secret.DeepCopy()
	if !controllerutil.RemoveFinalizer(secret, infrav1.EngineCredentialsFinalizer) {
		return nil
	}
	lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, secret, lock); reconcile.IgnoreGone(err) != nil {
		return fmt.Errorf("remove finalizer of Secret %q: %w", secret.Name, err)
	}
	return nil
}

func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	err := r.Engines.Connect(ctx, client.ObjectKeyFromObject(s.engine), s.target)
	if invalid := new(remote.CredentialsError); errors.As(err, &invalid) {
		return s.unreachable(infrav1.EngineCredentialsInvalidReason, fmt.Errorf("spec.credentialsSecretName: Secret %q: %w", s.secret.Name, err), probeInterval)
	}
	if err != nil {
		return fmt.Errorf("connect to engine: %w", err)
	}
	return nil
}

// replacedError says that another engine responds than before.
type replacedError struct{ recorded, responds string }

// Error implements error.
func (e *replacedError) Error() string {
	return fmt.Sprintf("another engine responds (storage %s, not %s), which has no container of the clusters on the engine: correct spec.endpoint; "+
		"if the former engine is lost, remove the annotation %s", e.responds, e.recorded, infrav1.EngineAnnotation)
}

// probe the engine. One that is not the one of before is not used, and nothing is concluded from what
// it does not have.
func (r *Reconciler) probe(ctx context.Context, s *scope) error {
	name := client.ObjectKeyFromObject(s.engine)
	answer, err := r.Engines.Probe(ctx, name, func(ctx context.Context, info engine.Info, eng engine.ContainerReader) error {
		return s.identify(ctx, info, eng)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var replaced *replacedError
	switch {
	case errors.As(err, &replaced):
		return s.unreachable(infrav1.EngineReplacedReason, err, probeInterval)
	case errors.Is(err, engine.ErrUnauthorized):
		return s.unreachable(infrav1.EngineCredentialsInvalidReason, err, probeInterval)
	case err != nil:
		return s.unreachable(infrav1.EngineUnreachableReason, err, probeInterval)
	}
	s.answer = answer
	s.publish(answer.Info)
	reconcile.SetCondition(s.engine, metav1.Condition{
		Type: infrav1.EngineReachableCondition, Status: metav1.ConditionTrue, Reason: infrav1.EngineReachableReason,
	})
	return nil
}

// identify compares the engine with the recorded one. An engine that has containers of the clusters
// is the one, whatever it calls itself: identities change with the name of a host.
func (s *scope) identify(ctx context.Context, info engine.Info, eng engine.ContainerReader) error {
	recorded := s.engine.Annotations[infrav1.EngineAnnotation]
	switch {
	case info.StorageID == "" || info.StorageID == recorded:
		return nil
	case recorded != "":
		for i := range s.clusters {
			containers, err := eng.ListContainers(ctx, cluster.RecordOf(&s.clusters[i], clusterOf(&s.clusters[i])).Owner.Labels())
			if err != nil {
				return fmt.Errorf("list containers of cluster %q: %w", s.clusters[i].Name, err)
			}
			if len(containers) > 0 {
				metav1.SetMetaDataAnnotation(&s.engine.ObjectMeta, infrav1.EngineAnnotation, info.StorageID)
				return nil
			}
		}
		return &replacedError{recorded: recorded, responds: info.StorageID}
	}
	metav1.SetMetaDataAnnotation(&s.engine.ObjectMeta, infrav1.EngineAnnotation, info.StorageID)
	return nil
}

// checkHost judges what is known of the engine's host.
func (r *Reconciler) checkHost(ctx context.Context, s *scope) error {
	facts := preflight.Facts{
		Engine: s.answer.Info, Asked: s.answer.Asked, Answered: s.answer.Answered, Nodes: s.machines, Existing: s.existing,
	}
	if connection := r.Engines.Connection(client.ObjectKeyFromObject(s.engine)); connection != nil {
		if host, known := connection.Host.Known(); known {
			facts.Host = &host.Probed
			if preflight.Failed(preflight.Check(facts)) {
				// What the administrator has corrected meanwhile shows only to a new probe.
				if renewed, err := connection.Host.Renew(ctx); err == nil {
					facts.Host = &renewed.Probed
				}
			}
		}
	}
	items := preflight.Check(facts)
	condition := metav1.Condition{
		Type: infrav1.EngineHostReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.EngineHostReadyReason, Message: preflight.Summary(items),
	}
	if preflight.Failed(items) {
		condition.Status, condition.Reason = metav1.ConditionFalse, infrav1.EngineHostNotReadyReason
	}
	reconcile.SetCondition(s.engine, condition)
	return nil
}
