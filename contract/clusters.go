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

package contract

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

var (
	errTouched     = errors.New("it was written")
	errNoFinalizer = errors.New("it has no finalizer")
	errEndpoint    = errors.New("the endpoint is not complete")
	errNewEndpoint = errors.New("the endpoint changed")
	errReset       = errors.New("status.initialization.provisioned was reset")
	errDomains     = errors.New("the failure domains of the Cluster differ")
	errUndecided   = errors.New("the test has not seen the object")
)

// clusterLife is the life of one cluster without machines.
func clusterLife() scenario {
	return scenario{name: "cluster", steps: func(w *world) []step {
		object := w.infraCluster()
		return []step{
			{run: func(ctx context.Context) error {
				return w.create(ctx, w.like(w.provider.Objects.Cluster, nameOfCluster))
			}},
			{rule: "IC14", run: func(ctx context.Context) error { return w.isLeftAlone(ctx, object) }},
			{run: w.createCluster},
			{rule: "IC7", essential: true, run: func(ctx context.Context) error {
				if err := w.awaitCluster(ctx); err != nil {
					return err
				}
				return w.exists(ctx, object, true)
			}},
			{rule: "IC1", run: w.endpointIsComplete},
			{rule: "IC6", run: w.domainsAreCopied},
			{rule: "IC8", run: func(ctx context.Context) error { return w.hasFinalizer(ctx, object) }},
			{rule: "IC9", run: func(ctx context.Context) error {
				return w.hasCondition(ctx, object, readyCondition, metav1.ConditionTrue)
			}},
			{rule: "O6b", run: func(ctx context.Context) error { return w.staysTheSame(ctx, object) }},
			{rule: "O6a", run: func(ctx context.Context) error { return w.finalizerComesBack(ctx, object) }},
			{run: w.end},
			{rule: "IC15", run: func(ctx context.Context) error { return w.goesWithInfrastructure(ctx, object) }},
			{rule: "IC2", run: func(context.Context) error { return w.endpointStays() }},
			{rule: "IC7b", run: func(context.Context) error { return w.staysProvisioned(object) }},
		}
	}}
}

// isLeftAlone waits for quiet, and checks that a provider has done nothing about an object.
func (w *world) isLeftAlone(ctx context.Context, object *unstructured.Unstructured) error {
	if err := w.quiet(ctx, object); err != nil {
		return err
	}
	if len(object.GetFinalizers()) > 0 || isProvisioned(object) || providerID(object) != "" {
		return fmt.Errorf("%w: %s", errTouched, state(object))
	}
	return w.exists(ctx, object, false)
}

func (w *world) hasFinalizer(ctx context.Context, object *unstructured.Unstructured) error {
	if err := w.get(ctx, object); err != nil {
		return err
	}
	if len(object.GetFinalizers()) == 0 {
		return errNoFinalizer
	}
	return nil
}

func (w *world) hasCondition(ctx context.Context, object *unstructured.Unstructured, kind string, status metav1.ConditionStatus) error {
	return w.becomes(ctx, object, fmt.Sprintf("with condition %s=%s", kind, status), func() error {
		return checkCondition(object, kind, status)
	})
}

// suppliesEndpoint reports whether the provider does, rather than its user.
func (w *world) suppliesEndpoint() error {
	if w.provider.Endpoint.Host != "" {
		return notApplicableError("the provider does not supply the endpoint of the control plane")
	}
	return nil
}

// endpointIsComplete in the first version that is provisioned, and in the Cluster.
func (w *world) endpointIsComplete(ctx context.Context) error {
	if err := w.suppliesEndpoint(); err != nil {
		return err
	}
	for _, version := range w.history.of(w.infraCluster()) {
		if e := endpoint(version); isProvisioned(version) && (e.Host == "" || e.Port == 0) {
			return fmt.Errorf("%w when it is provisioned: %s", errEndpoint, state(version))
		}
	}
	object, cluster := w.infraCluster(), w.cluster()
	if err := w.get(ctx, object); err != nil {
		return err
	}
	return w.becomes(ctx, cluster, "with the endpoint", func() error {
		if cluster.Spec.ControlPlaneEndpoint != endpoint(object) {
			return fmt.Errorf("%w: the Cluster has %q", errNotCopied, cluster.Spec.ControlPlaneEndpoint.String())
		}
		return nil
	})
}

func (w *world) endpointStays() error {
	if err := w.suppliesEndpoint(); err != nil {
		return err
	}
	var first clusterv1.APIEndpoint
	for _, version := range w.history.of(w.infraCluster()) {
		e := endpoint(version)
		if first.Host == "" {
			first = e
		} else if e != first {
			return fmt.Errorf("%w from %q to %q", errNewEndpoint, first.String(), e.String())
		}
	}
	return nil
}

func (w *world) domainsAreCopied(ctx context.Context) error {
	object, cluster := w.infraCluster(), w.cluster()
	if err := w.get(ctx, object); err != nil {
		return err
	}
	domains, err := decode[[]clusterv1.FailureDomain](object, "status", "failureDomains")
	if err != nil {
		return err
	}
	if len(domains) == 0 {
		return notApplicableError("the cluster has no failure domains")
	}
	return w.becomes(ctx, cluster, "with the failure domains", func() error {
		if len(cluster.Status.FailureDomains) != len(domains) {
			return fmt.Errorf("%w: %v instead of %v", errDomains, cluster.Status.FailureDomains, domains)
		}
		return nil
	})
}

// staysTheSame waits for quiet, lets all controllers look at the Cluster again, and checks that nothing
// is written.
func (w *world) staysTheSame(ctx context.Context, object *unstructured.Unstructured) error {
	if err := w.quiet(ctx, object); err != nil {
		return err
	}
	before := object.DeepCopy()
	if err := w.touch(ctx); err != nil {
		return err
	}
	if err := w.quiet(ctx, object); err != nil {
		return err
	}
	if before.GetResourceVersion() != object.GetResourceVersion() {
		return fmt.Errorf("%w: before %s, after %s", errTouched, state(before), state(object))
	}
	return nil
}

func (w *world) finalizerComesBack(ctx context.Context, object *unstructured.Unstructured) error {
	if err := w.hasFinalizer(ctx, object); err != nil {
		return err
	}
	if err := w.edit(ctx, object, func() { object.SetFinalizers(nil) }); err != nil {
		return err
	}
	return w.becomes(ctx, object, "with its finalizer again", func() error {
		if len(object.GetFinalizers()) == 0 {
			return errNoFinalizer
		}
		return nil
	})
}

// goesWithInfrastructure waits until an object is gone; its infrastructure must be gone then.
func (w *world) goesWithInfrastructure(ctx context.Context, object *unstructured.Unstructured) error {
	last := object.DeepCopy()
	if err := w.get(ctx, last); err == nil {
		object = last
	}
	if err := w.goes(ctx, object.DeepCopy()); err != nil {
		return err
	}
	return w.exists(ctx, object, false)
}

func (w *world) staysProvisioned(object *unstructured.Unstructured) error {
	versions := w.history.of(object)
	if len(versions) == 0 {
		return errUndecided
	}
	was := false
	for _, version := range versions {
		if was && !isProvisioned(version) {
			return fmt.Errorf("%w: %s", errReset, state(version))
		}
		was = isProvisioned(version)
	}
	return nil
}

// externalCluster is a cluster that another system manages, with a machine of the provider.
func externalCluster() scenario {
	const machine = "external"
	return scenario{name: "external", steps: func(w *world) []step {
		object := w.infraCluster()
		return []step{
			{run: func(ctx context.Context) error {
				external := w.like(w.provider.Objects.ExternalCluster, nameOfCluster)
				annotations := external.GetAnnotations()
				if annotations == nil {
					annotations = map[string]string{}
				}
				annotations[clusterv1.ManagedByAnnotation] = "contract"
				external.SetAnnotations(annotations)
				return w.create(ctx, external)
			}},
			{run: w.createCluster},
			{run: func(ctx context.Context) error { return w.awaitOwner(ctx, object) }},
			{rule: "IC10", run: func(ctx context.Context) error {
				if err := w.isLeftAlone(ctx, object); err != nil {
					return err
				}
				if status, found, _ := unstructured.NestedMap(object.Object, "status"); found && len(status) > 0 {
					return fmt.Errorf("%w: %s", errTouched, state(object))
				}
				return nil
			}},
			{run: w.manageExternally},
			{run: w.awaitCluster},
			{run: func(ctx context.Context) error { return w.addMachine(ctx, machine, asControlPlane) }},
			{rule: "IC11", run: func(ctx context.Context) error { return w.awaitMachine(ctx, machine) }},
			{run: w.end},
		}
	}}
}

// externalHost is an address for documentation (RFC 5737): no client connects to it.
const externalHost = "192.0.2.10"

// manageExternally does what another system does.
func (w *world) manageExternally(ctx context.Context) error {
	object := w.infraCluster()
	err := w.edit(ctx, object, func() {
		if endpoint(object).Host == "" {
			_ = unstructured.SetNestedMap(object.Object, map[string]any{"host": externalHost, "port": int64(6443)}, "spec", "controlPlaneEndpoint")
		}
	})
	if err != nil {
		return err
	}
	return w.editStatus(ctx, object, func() {
		_ = unstructured.SetNestedField(object.Object, true, "status", "initialization", "provisioned")
	})
}
