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

package node

import (
	"fmt"
	"strconv"
	"strings"
)

// Resources limit what a node may use of its host; zero = no limit.
type Resources struct {
	// MilliCPU is processor time in thousandths of a CPU.
	MilliCPU int64
	// MemoryBytes is memory, without swap in addition to it.
	MemoryBytes int64
	// Pids is how many processes and threads there may be.
	Pids int64
}

// String implements fmt.Stringer, for messages.
func (r Resources) String() string {
	var parts []string
	if r.MilliCPU != 0 {
		parts = append(parts, "cpu "+cores(r.MilliCPU))
	}
	if r.MemoryBytes != 0 {
		parts = append(parts, "memory "+mebibytes(r.MemoryBytes))
	}
	if r.Pids != 0 {
		parts = append(parts, fmt.Sprintf("pids %d", r.Pids))
	}
	return strings.Join(parts, ", ")
}

// With less a node does not get through its bootstrap; measured, see
// docs/how-to/resources.md.
const (
	minimumMilliCPU    = 750
	minimumMemoryBytes = 1 << 30
)

// ResourceError is a limit that no node can have.
type ResourceError struct {
	// Field is its name in the API.
	Field string
	// Reason says what is wrong with it, and Remedy what to do.
	Reason, Remedy string
}

// Error implements error.
func (r ResourceError) Error() string { return r.Field + " " + r.Reason + "; " + r.Remedy }

// CheckResources returns what a node cannot do with, and what the host does not have as
// far as it is known.
func CheckResources(limits Resources, host Host) []ResourceError {
	var refused []ResourceError
	check := func(field string, quantity func(int64) string, limit, least, most int64) {
		switch {
		case limit == 0:
		case limit < least:
			refused = append(refused, ResourceError{field, "is less than a node requires", "use at least " + quantity(least) + ", or omit it"})
		case most != 0 && limit > most:
			refused = append(refused, ResourceError{field, fmt.Sprintf("is %s, but the engine's host has only %s", quantity(limit), quantity(most)), "use less, or omit it"})
		}
	}
	check("cpu", cores, limits.MilliCPU, minimumMilliCPU, host.MilliCPU)
	check("memory", mebibytes, limits.MemoryBytes, minimumMemoryBytes, host.MemoryBytes)
	return refused
}

// cores and mebibytes are quantities as Kubernetes prints them.
func cores(milli int64) string {
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return strconv.FormatInt(milli, 10) + "m"
}

func mebibytes(bytes int64) string {
	const mebibyte, gibibyte = 1 << 20, 1 << 30
	if bytes%gibibyte == 0 {
		return strconv.FormatInt(bytes/gibibyte, 10) + "Gi"
	}
	return strconv.FormatInt(bytes/mebibyte, 10) + "Mi"
}

// Reserved are the kubelet's flags for what the node sees of the host and must not use:
// the kubelet takes the host's resources for the Node's capacity, and subtracts this from
// what it offers to Pods. None where nothing is limited. One flag for each resource: a user
// may reserve one of them.
func (r Resources) Reserved(host Host) []string {
	var flags []string
	add := func(name string, limit, has int64, unit string) {
		if limit != 0 && has > limit {
			flags = append(flags, fmt.Sprintf("--system-reserved=%s=%d%s", name, has-limit, unit))
		}
	}
	add("cpu", r.MilliCPU, host.MilliCPU, "m")
	add("memory", r.MemoryBytes, host.MemoryBytes, "")
	return flags
}
