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

package machine

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// image is the one of the spec, or the one known for the Machine's version.
func (s *scope) image() (string, error) {
	if image := s.containerMachine.Spec.Image; image != "" {
		return image, nil
	}
	image, err := node.Image(s.version())
	if err != nil {
		return "", fmt.Errorf("choose node image: %w", err)
	}
	return image, nil
}

// ensureImage fetches the image of a container that is to be created.
func (r *Reconciler) ensureImage(ctx context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	image, err := s.image()
	if err != nil {
		return reconcile.WaitForEvent(infrav1.VersionUnsupportedReason, err.Error()+"; set spec.image, or use a known version")
	}
	status, err := r.Images.Ensure(ctx, image)
	switch {
	case err != nil:
		return engineError(err)
	case status.Present:
		return nil
	case status.Err != nil:
		return reconcile.Wait{Reason: infrav1.ImagePullFailedReason, Message: status.Text(), After: reconcile.PullInterval}
	default:
		return reconcile.Wait{Reason: infrav1.ImagePullingReason, Message: status.Text(), After: reconcile.PullInterval}
	}
}

// engineError is the outcome where the engine answered that instead of doing its work.
func engineError(err error) error {
	failure := reconcile.Failure{Err: err, Condition: infrav1.ContainerReadyCondition, Reason: infrav1.ContainerFailedReason}
	if errors.Is(err, engine.ErrUnavailable) {
		failure.Status, failure.Reason = metav1.ConditionUnknown, infrav1.EngineUnavailableReason
	}
	return failure
}

// waitForUser is the outcome where only a user can correct why there is no container.
func waitForUser(reason, message string) error {
	return reconcile.Wait{Reason: reason, Message: message, After: reconcile.UserInterval}
}
