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

// Package inplace has the table of what can change of a ContainerMachine whose container runs. The webhook, the Runtime
// Extension and docs/how-to/change.md follow it.
package inplace

import (
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Change says what a changed field means for a Machine. Its text is that of the table in the documentation.
type Change string

const (
	// Always: the controller applies the field at any time.
	Always Change = "yes"
	// Grows: a larger value is applied to the running node, in an in-place update of Cluster API.
	Grows Change = "to a larger value, in an [in-place update](in-place-updates.md)"
	// Never: the Machine is replaced.
	Never Change = "no"
)

// Field of a ContainerMachine's spec that its template has too.
type Field struct {
	// Path of the field in the spec.
	Path []string
	// Change that is possible.
	Change Change
	// grows says that a value becomes larger or stays, and take takes it over; nil where Change is not Grows.
	grows func(before, after *infrav1.ContainerMachineCommonSpec) bool
	take  func(into, from *infrav1.MachineResources)
}

// Fields is the table. A limit that is added or removed is no growth: without one, a node has what its host has.
func Fields() []Field {
	resources := func(name string, grows func(before, after infrav1.MachineResources) bool, take func(into, from *infrav1.MachineResources)) Field {
		return Field{Path: []string{"resources", name}, Change: Grows, take: take, grows: func(before, after *infrav1.ContainerMachineCommonSpec) bool {
			return grows(before.Resources, after.Resources)
		}}
	}
	never := func(name string) Field { return Field{Path: []string{name}, Change: Never} }
	return []Field{
		never("image"), never("extraMounts"), never("portMappings"),
		resources("cpu", func(before, after infrav1.MachineResources) bool { return quantityGrows(before.CPU, after.CPU) },
			func(into, from *infrav1.MachineResources) { into.CPU = from.CPU }),
		resources("memory", func(before, after infrav1.MachineResources) bool { return quantityGrows(before.Memory, after.Memory) },
			func(into, from *infrav1.MachineResources) { into.Memory = from.Memory }),
		resources("pids", func(before, after infrav1.MachineResources) bool {
			return before.Pids != 0 && after.Pids >= before.Pids
		}, func(into, from *infrav1.MachineResources) { into.Pids = from.Pids }),
		never("environment"), never("labels"), never("devices"), never("dnsSearch"),
		{Path: []string{"bootstrapTimeout"}, Change: Always},
	}
}

func quantityGrows(before, after *resource.Quantity) bool {
	return before != nil && after != nil && after.Cmp(*before) >= 0
}

// Accepted returns the fields whose values of after a running machine that has those of before can get in an in-place
// update, in the order of the table. The values of some may be equal.
func Accepted(before, after *infrav1.ContainerMachineCommonSpec) []Field {
	var accepted []Field
	for _, field := range Fields() {
		if field.Change == Always || field.Change == Grows && field.grows(before, after) {
			accepted = append(accepted, field)
		}
	}
	return accepted
}

// Accept takes over the values of after that a running machine can get in an in-place update. Fields that may always
// change are left out.
func Accept(before, after *infrav1.ContainerMachineCommonSpec) {
	after = after.DeepCopy()
	for _, field := range Accepted(before, after) {
		if field.take != nil {
			field.take(&before.Resources, &after.Resources)
		}
	}
}
