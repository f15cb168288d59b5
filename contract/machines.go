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
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// maxProviderID is the longest provider ID that a Machine can have.
const maxProviderID = 512

var (
	errProviderID  = errors.New("the provider ID differs")
	errNoAddresses = errors.New("it has no addresses")
	errAddressType = errors.New("an address has a type that Cluster API does not know")
	errDomain      = errors.New("the failure domain differs")
)

// machineLife is the life of four machines: one that waits for everything, one that has data before the
// Cluster has infrastructure, one in a failure domain, and one that never gets data.
func machineLife() scenario {
	const first, second, third, early = "first", "second", "third", "early"
	return scenario{name: "machine", steps: func(w *world) []step {
		object := w.infraMachine(first)
		return []step{
			{run: func(ctx context.Context) error { return w.create(ctx, w.like(w.provider.Objects.Machine, first)) }},
			{rule: "IM13", run: func(ctx context.Context) error { return w.isLeftAlone(ctx, object) }},
			{run: w.createCluster},
			{run: func(ctx context.Context) error { return w.createMachine(ctx, first, asControlPlane) }},
			{run: func(ctx context.Context) error { return w.awaitOwner(ctx, object) }},
			// It has all but the Cluster's infrastructure.
			{run: func(ctx context.Context) error { return w.addMachine(ctx, early) }},
			{run: func(ctx context.Context) error { return w.awaitOwner(ctx, w.infraMachine(early)) }},
			{rule: "IM12a", run: func(ctx context.Context) error { return w.waits(ctx, w.infraMachine(early)) }},
			{rule: "IM12a", run: func(ctx context.Context) error { return w.waits(ctx, object) }},
			{run: func(ctx context.Context) error {
				return w.create(ctx, w.like(w.provider.Objects.Cluster, nameOfCluster))
			}},
			{run: w.touch},
			{run: w.awaitCluster},
			{rule: "IM12b", run: func(ctx context.Context) error { return w.waits(ctx, object) }},
			{run: func(ctx context.Context) error { return w.giveData(ctx, first) }},
			{rule: "IM3", essential: true, run: func(ctx context.Context) error {
				if err := w.awaitMachine(ctx, first); err != nil {
					return err
				}
				return w.exists(ctx, object, true)
			}},
			{rule: "IM2", run: func(context.Context) error { return w.providerIDCameFirst(object) }},
			{rule: "IM1", run: func(ctx context.Context) error { return w.providerIDIsCopied(ctx, first) }},
			{rule: "IM4", run: func(ctx context.Context) error { return w.addressesAreCopied(ctx, first) }},
			{rule: "IM9", run: func(ctx context.Context) error { return w.hasFinalizer(ctx, object) }},
			{rule: "O6b", run: func(ctx context.Context) error { return w.staysTheSame(ctx, object) }},
			{rule: "O6c", run: func(ctx context.Context) error { return w.finalizerComesBack(ctx, object) }},
			{rule: "IM6", run: func(ctx context.Context) error { return w.isInDomain(ctx, second) }},
			{rule: "IM8", run: func(ctx context.Context) error {
				return w.hasCondition(ctx, w.infraMachine(second), readyCondition, metav1.ConditionTrue)
			}},
			{rule: "IM1b", run: func(ctx context.Context) error { return w.providerIDsDiffer(ctx, first, second) }},
			{run: func(ctx context.Context) error {
				if err := w.create(ctx, w.like(w.provider.Objects.Machine, third)); err != nil {
					return err
				}
				if err := w.createMachine(ctx, third); err != nil {
					return err
				}
				return w.awaitOwner(ctx, w.infraMachine(third))
			}},
			{rule: "IM12c", run: func(ctx context.Context) error { return w.machineGoes(ctx, third) }},
			{rule: "IM15b", run: func(ctx context.Context) error { return w.machineGoesWithout(ctx, second) }},
			{rule: "IM15", run: func(ctx context.Context) error { return w.machineGoes(ctx, first) }},
			{rule: "IM3b", run: func(context.Context) error { return w.staysProvisioned(object) }},
			{run: w.end},
		}
	}}
}

// waits checks that a machine is not created.
func (w *world) waits(ctx context.Context, object *unstructured.Unstructured) error {
	if err := w.quiet(ctx, object); err != nil {
		return err
	}
	if isProvisioned(object) {
		return fmt.Errorf("it does not wait: %s", state(object)) //nolint:err113 // No caller asks for it.
	}
	return w.exists(ctx, object, false)
}

// providerIDCameFirst checks the first version that was provisioned.
func (w *world) providerIDCameFirst(object *unstructured.Unstructured) error {
	versions := w.history.of(object)
	i := slices.IndexFunc(versions, isProvisioned)
	if i < 0 {
		return errUndecided
	}
	if providerID(versions[i]) == "" {
		return fmt.Errorf("%w: it is empty when the machine is provisioned: %s", errProviderID, state(versions[i]))
	}
	return nil
}

func (w *world) providerIDIsCopied(ctx context.Context, name string) error {
	object, machine := w.infraMachine(name), w.machine(name)
	if err := w.get(ctx, object); err != nil {
		return err
	}
	id := providerID(object)
	if id == "" || len(id) > maxProviderID {
		return fmt.Errorf("%w: its length is %d, not between 1 and %d", errProviderID, len(id), maxProviderID)
	}
	return w.becomes(ctx, machine, "with the provider ID", func() error {
		if machine.Spec.ProviderID != id {
			return fmt.Errorf("%w: %q instead of %q", errProviderID, machine.Spec.ProviderID, id)
		}
		return nil
	})
}

func (w *world) providerIDsDiffer(ctx context.Context, names ...string) error {
	owner := map[string]string{}
	for _, name := range names {
		object := w.infraMachine(name)
		err := w.becomes(ctx, object, "with a provider ID", func() error {
			if providerID(object) == "" {
				return fmt.Errorf("%w: %s", errNotProvisioned, state(object))
			}
			return nil
		})
		if err != nil {
			return err
		}
		id := providerID(object)
		if other, found := owner[id]; found {
			return fmt.Errorf("%s and %s have the same provider ID %q: %w", other, name, id, errProviderID)
		}
		owner[id] = name
	}
	return nil
}

func (w *world) addressesAreCopied(ctx context.Context, name string) error {
	object, machine := w.infraMachine(name), w.machine(name)
	known := []clusterv1.MachineAddressType{
		clusterv1.MachineHostName, clusterv1.MachineExternalIP, clusterv1.MachineInternalIP,
		clusterv1.MachineExternalDNS, clusterv1.MachineInternalDNS,
	}
	err := w.becomes(ctx, object, "with addresses", func() error {
		addresses, err := decode[clusterv1.MachineAddresses](object, "status", "addresses")
		if err != nil {
			return err
		}
		for _, address := range addresses {
			if !slices.Contains(known, address.Type) {
				return fmt.Errorf("%w: %q", errAddressType, address.Type)
			}
		}
		if len(addresses) == 0 {
			return final{fmt.Errorf("%w: %s", errNoAddresses, state(object))}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.becomes(ctx, machine, "with addresses", func() error {
		if len(machine.Status.Addresses) == 0 {
			return errNotCopied
		}
		return nil
	})
}

// isInDomain adds a machine to the first failure domain of the cluster, or to none.
func (w *world) isInDomain(ctx context.Context, name string) error {
	object := w.infraCluster()
	if err := w.get(ctx, object); err != nil {
		return err
	}
	domains, err := decode[[]clusterv1.FailureDomain](object, "status", "failureDomains")
	if err != nil {
		return err
	}
	domain := ""
	if len(domains) > 0 {
		domain = domains[0].Name
	}
	err = w.addMachine(ctx, name, func(machine *clusterv1.Machine) { machine.Spec.FailureDomain = domain })
	if err != nil {
		return err
	}
	if domain == "" {
		return notApplicableError("the cluster has no failure domains")
	}
	if err := w.awaitMachine(ctx, name); err != nil {
		return err
	}
	infra := w.infraMachine(name)
	if err := w.get(ctx, infra); err != nil {
		return err
	}
	// Reporting it is optional.
	if actual := text(infra, "status", "failureDomain"); actual != "" && actual != domain {
		return fmt.Errorf("%w: %q instead of %q", errDomain, actual, domain)
	}
	return nil
}

// machineGoes deletes a Machine, and waits for its infrastructure.
func (w *world) machineGoes(ctx context.Context, name string) error {
	if err := w.delete(ctx, w.machine(name)); err != nil {
		return err
	}
	return w.goesWithInfrastructure(ctx, w.infraMachine(name))
}

// machineGoesWithout removes the infrastructure of a Machine before it deletes it.
func (w *world) machineGoesWithout(ctx context.Context, name string) error {
	remover, ok := w.provider.Infrastructure.(Remover)
	if !ok {
		return notApplicableError("no Infrastructure can remove what exists behind an object")
	}
	if err := w.awaitMachine(ctx, name); err != nil {
		return err
	}
	object := w.infraMachine(name)
	if err := w.get(ctx, object); err != nil {
		return err
	}
	if err := remover.Remove(ctx, object); err != nil {
		return fmt.Errorf("remove what exists behind %s: %w", describe(object), err)
	}
	return w.machineGoes(ctx, name)
}
