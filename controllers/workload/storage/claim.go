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
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// The PersistentVolume controller annotates a claim with the provisioner of its class.
	provisionerAnnotation     = "volume.kubernetes.io/storage-provisioner"
	betaProvisionerAnnotation = "volume.beta.kubernetes.io/storage-provisioner"

	snapshotGroup = "snapshot.storage.k8s.io"
	snapshotKind  = "VolumeSnapshot"

	// eventNameLength leaves space for a hash in the name of an Event.
	eventNameLength = 230
)

// ShouldProvision implements controller.Qualifier. It refuses a claim that cannot be served
// as it is, and leaves one with a data source of another API to the populator of that API, as
// Kubernetes' external-provisioner does: the populator fills a claim of its own, without data
// source, and gives its volume to this one.
func (p *provisioner) ShouldProvision(ctx context.Context, claim *corev1.PersistentVolumeClaim) bool {
	if cmp.Or(claim.Annotations[provisionerAnnotation], claim.Annotations[betaProvisionerAnnotation]) != Provisioner {
		// The controller skips it.
		return true
	}
	err := p.checkClaim(claim)
	if err == nil {
		source, hasSource := dataSource(claim)
		if !hasSource || source.isClaim() {
			return true
		}
		err = p.record(ctx, claim, corev1.EventTypeNormal, "Provisioning", fmt.Sprintf(
			"Waiting for a volume populator for the data source %s; volumes of this provisioner are empty", source))
	} else {
		err = p.recordRefusal(ctx, claim, err)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to create Event; retrying with the next resync")
	}
	return false
}

// checkClaim returns an error for a claim that no retry can serve: its spec is immutable.
func (p *provisioner) checkClaim(claim *corev1.PersistentVolumeClaim) error {
	spec := claim.Spec
	source, hasSource := dataSource(claim)
	switch {
	case hasSource && source.isClaim() && p.Shared:
	case hasSource && source.isSnapshot() && p.Shared:
		return fmt.Errorf("%w: spec.%s: a volume cannot be created from %s, because volumes are directories without snapshots; "+
			"create a claim from another claim, which is copied while no Pod uses it, or use a StorageClass of another provisioner", errUnsatisfiable, source.field, source)
	case hasSource && !source.populated():
		return fmt.Errorf("%w: spec.%s: a volume cannot be created from %s, because volumes are directories without snapshots and clones; "+
			"create a claim without it and restore the data, or use a StorageClass of another provisioner", errUnsatisfiable, source.field, source)
	case spec.Selector != nil:
		return fmt.Errorf("%w: spec.selector: provisioned volumes have no labels; create a claim without it", errUnsatisfiable)
	case ptr.Deref(spec.VolumeMode, corev1.PersistentVolumeFilesystem) != corev1.PersistentVolumeFilesystem:
		return fmt.Errorf("%w: spec.volumeMode: %s is not supported; use %s", errUnsatisfiable, *spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	case ptr.Deref(spec.VolumeAttributesClassName, "") != "":
		return fmt.Errorf("%w: spec.volumeAttributesClassName: volumes have no attributes; create a claim without it", errUnsatisfiable)
	}
	for _, mode := range spec.AccessModes {
		if mode != corev1.ReadWriteOnce && mode != corev1.ReadWriteOncePod && !p.Shared {
			return fmt.Errorf("%w: spec.accessModes: %s is not supported, because a volume is on one node; use %s or %s",
				errUnsatisfiable, mode, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
		}
	}
	return nil
}

// source is what the content of a volume is to be.
type source struct {
	field, group, kind, name string
}

// dataSource of a claim. The API server copies dataSource to dataSourceRef, unless that
// names an object of another namespace.
func dataSource(claim *corev1.PersistentVolumeClaim) (_ source, exists bool) {
	spec := claim.Spec
	switch {
	case spec.DataSource != nil:
		return source{"dataSource", ptr.Deref(spec.DataSource.APIGroup, ""), spec.DataSource.Kind, spec.DataSource.Name}, true
	case spec.DataSourceRef != nil:
		return source{"dataSourceRef", ptr.Deref(spec.DataSourceRef.APIGroup, ""), spec.DataSourceRef.Kind, spec.DataSourceRef.Name}, true
	}
	return source{}, false
}

// populated reports whether a volume populator may serve it. Those of claims and snapshots
// are the provisioner's.
func (s source) populated() bool {
	return s.group != "" && (s.group != snapshotGroup || s.kind != snapshotKind)
}

// String returns kind and name.
// isClaim reports whether it is another claim.
func (s source) isClaim() bool { return s.group == "" && s.kind == "PersistentVolumeClaim" }

func (s source) isSnapshot() bool { return s.group == snapshotGroup && s.kind == snapshotKind }

func (s source) String() string {
	if s.group == "" {
		return fmt.Sprintf("%s %q", s.kind, s.name)
	}
	return fmt.Sprintf("%s.%s %q", s.kind, s.group, s.name)
}

func (p *provisioner) recordRefusal(ctx context.Context, claim *corev1.PersistentVolumeClaim, err error) error {
	return p.record(ctx, claim, corev1.EventTypeWarning, "ProvisioningFailed", err.Error())
}

// record an Event, unless the claim has it: its name is derived from its content. The API
// server deletes it after an hour, and the next resync creates it again.
func (p *provisioner) record(ctx context.Context, claim *corev1.PersistentVolumeClaim, eventType, reason, message string) error {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(string(claim.UID) + message))
	prefix := strings.TrimRight(claim.Name[:min(len(claim.Name), eventNameLength)], ".-")
	now := metav1.NewTime(p.clock.Now())
	_, err := p.client.CoreV1().Events(claim.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: fmt.Sprintf("%s.%016x", prefix, hash.Sum64())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "PersistentVolumeClaim",
			Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion,
		},
		Type: eventType, Reason: reason, Message: message,
		Source:         corev1.EventSource{Component: Provisioner},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Event of PersistentVolumeClaim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}
