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
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	if s.secret == nil {
		return nil // What is connected continues with what it has.
	}
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
type replacedError struct {
	recorded, responds string
	// indebted says that the former one has debts, which this one cannot pay.
	indebted bool
}

// Error implements error.
func (e *replacedError) Error() string {
	remedy := "remove the annotation " + infrav1.EngineAnnotation
	if e.indebted {
		remedy += " and spec.debts"
	}
	return fmt.Sprintf("another engine responds (storage %s, not %s), which has no container of the clusters on the engine: correct spec.endpoint; "+
		"if the former engine is lost, %s", e.responds, cmp.Or(e.recorded, "the one of before"), remedy)
}

// duplicateError says that the engine that responds is the one of another ContainerEngine.
type duplicateError struct{ storage, other string }

// Error implements error.
func (e *duplicateError) Error() string {
	return fmt.Sprintf("the engine that responds (storage %s) is that of ContainerEngine %q: correct spec.endpoint, or use that one and delete this", e.storage, e.other)
}

// probe the engine. One that is not the one of before is not used, and nothing is concluded from what
// it does not have.
func (r *Reconciler) probe(ctx context.Context, s *scope) error {
	name := client.ObjectKeyFromObject(s.engine)
	answer, err := r.Engines.Probe(ctx, name, func(ctx context.Context, info engine.Info, eng engine.ContainerReader) error {
		if err := s.identify(ctx, info, eng); err != nil {
			return err
		}
		return s.checkDebts()
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var replaced *replacedError
	var duplicate *duplicateError
	switch _, isIndebted := errors.AsType[*indebtedError](err); {
	case isIndebted: // It responds, and payDebts uses it.
	case errors.As(err, &replaced):
		return s.unreachable(infrav1.EngineReplacedReason, err, probeInterval)
	case errors.As(err, &duplicate):
		return s.unreachable(infrav1.EngineDuplicateReason, err, probeInterval)
	case errors.Is(err, engine.ErrUnauthorized):
		return s.unreachable(infrav1.EngineCredentialsInvalidReason, err, probeInterval)
	case err != nil:
		return s.unreachable(infrav1.EngineUnreachableReason, err, probeInterval)
	}
	s.answer = answer
	s.publish(answer.Info)
	reachable := metav1.Condition{Type: infrav1.EngineReachableCondition, Status: metav1.ConditionTrue, Reason: infrav1.EngineReachableReason}
	if s.engine.Annotations[clusterctlv1.BlockMoveAnnotation] == blockedByCredentials {
		reachable.Message = fmt.Sprintf("clusterctl does not move the engine: Secret %q needs the label %s",
			s.engine.Spec.CredentialsSecretName, clusterctlv1.ClusterctlMoveLabel)
	}
	reconcile.SetCondition(s.engine, reachable)
	return nil
}

// identify compares the engine with the recorded one. An engine that has containers of the clusters
// is the one, whatever it calls itself: identities change with the name of a host.
func (s *scope) identify(ctx context.Context, info engine.Info, eng engine.ContainerReader) error {
	recorded, indebted := s.engine.Annotations[infrav1.EngineAnnotation], len(s.engine.Spec.Debts) > 0
	if recorded == "" && indebted {
		// Who removes the annotation alone has not said that the debts are of another engine.
		recorded = s.engine.Status.ID
	}
	switch {
	case info.StorageID == "" || info.StorageID == s.engine.Annotations[infrav1.EngineAnnotation]:
		return nil
	case s.recordedBy[info.StorageID] != "":
		// Two objects would count its capacity twice, and take the containers of the one for those of the other.
		return &duplicateError{info.StorageID, s.recordedBy[info.StorageID]}
	case info.StorageID != recorded && (recorded != "" || indebted):
		if owns, err := s.ownsContainers(ctx, eng); err != nil || !owns {
			return cmp.Or(err, error(&replacedError{recorded: recorded, responds: info.StorageID, indebted: indebted}))
		}
	}
	metav1.SetMetaDataAnnotation(&s.engine.ObjectMeta, infrav1.EngineAnnotation, info.StorageID)
	return nil
}

// ownsContainers reports whether the engine that responds has containers of the clusters that are on the engine, or have
// left some there.
func (s *scope) ownsContainers(ctx context.Context, eng engine.ContainerReader) (bool, error) {
	for _, owner := range s.owners() {
		containers, err := eng.ListContainers(ctx, owner.Labels())
		if err != nil {
			return false, fmt.Errorf("list containers of cluster %q: %w", owner.Cluster, err)
		}
		if len(containers) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// checkHost judges what is known of the engine's host.
func (r *Reconciler) checkHost(ctx context.Context, s *scope) error {
	facts := preflight.Facts{
		Engine: s.answer.Info, Asked: s.answer.Asked, Answered: s.answer.Answered, Nodes: s.usage.Machines, Existing: s.usage.Existing,
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
