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

package network

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// Host ports are chosen from 20000 to 29999 by default: below the ephemeral ports of
	// Linux (32768 up) and the node ports of Kubernetes (30000 to 32767),
	// above what services are registered for most.
	firstHostPort, lastHostPort = 20000, 29999
	// leastHostPort is the first port that needs no capability.
	leastHostPort = 1024
	// maxCandidates is how many choices are tried.
	maxCandidates = 32
	// candidateStep is between two candidates of one port. A prime: in all ranges but its
	// multiples it leads to each port.
	candidateStep = 97
)

// HostPortRange is a range of ports of the engine's host, of which free ones are chosen.
type HostPortRange struct {
	// First and Last are in the range.
	First, Last uint16
}

// DefaultHostPorts is the range that is used where none is set.
func DefaultHostPorts() HostPortRange { return HostPortRange{First: firstHostPort, Last: lastHostPort} }

// ErrHostPortRange says that a text is no range of host ports.
var ErrHostPortRange = errors.New("must be the first and the last port, such as 20000-29999, from 1024 to 65535")

// ParseHostPortRange reads a range, as Kubernetes has that of node ports. ErrHostPortRange: it is none.
func ParseHostPortRange(text string) (HostPortRange, error) {
	from, to, _ := strings.Cut(text, "-")
	first, firstErr := strconv.ParseUint(from, 10, 16)
	last, lastErr := strconv.ParseUint(to, 10, 16)
	if firstErr != nil || lastErr != nil || first < leastHostPort || last < first {
		return HostPortRange{}, ErrHostPortRange
	}
	return HostPortRange{First: uint16(first), Last: uint16(last)}, nil
}

// String is what ParseHostPortRange reads.
func (r HostPortRange) String() string {
	if r.isEmpty() {
		return "an empty range"
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

func (r HostPortRange) isEmpty() bool { return r.Last < r.First }

// Intersect returns the ports that are in both ranges; none of them may be.
func (r HostPortRange) Intersect(other HostPortRange) HostPortRange {
	return HostPortRange{First: max(r.First, other.First), Last: min(r.Last, other.Last)}
}

// Contains reports whether a port is in the range.
func (r HostPortRange) Contains(port uint16) bool { return r.First <= port && port <= r.Last }

// Choose returns a port that is not used, and 0 where all are. It follows from the key: who
// chooses again most likely gets the same one.
func (r HostPortRange) Choose(key string, isUsed func(port uint16) bool) uint16 {
	if r.isEmpty() {
		return 0
	}
	size := uint64(r.Last) - uint64(r.First) + 1
	step := uint64(candidateStep)
	if size%step == 0 {
		step = 1
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key))
	for i := range size {
		port := uint16(uint64(r.First) + (uint64(hash.Sum32())+i*step)%size) //nolint:gosec // It is in the range.
		if !isUsed(port) {
			return port
		}
	}
	return 0
}

// HostPortKey of a port of a container, for Choose.
func HostPortKey(container string, port engine.PortBinding) string {
	return fmt.Sprintf("%s %d/%s", container, port.ContainerPort, port.Protocol.Name())
}

// HostPortCandidates are the choices of host ports to try for a container, in order: those
// that are set stay, and a free one is chosen for each that is 0. They are chosen
// here and not by the engine, which would choose another one each time the
// container starts. They follow from the container's name, so that one that is
// created again most likely gets them again.
func HostPortCandidates(name string, ports []engine.PortBinding) [][]engine.PortBinding {
	if !slices.ContainsFunc(ports, func(port engine.PortBinding) bool { return port.HostPort == 0 }) {
		return [][]engine.PortBinding{ports}
	}
	all := make([][]engine.PortBinding, 0, maxCandidates)
	used := map[uint16]bool{}
	for _, port := range ports {
		used[port.HostPort] = true
	}
	for range maxCandidates {
		choice := slices.Clone(ports)
		for i, port := range choice {
			if port.HostPort == 0 {
				choice[i].HostPort = DefaultHostPorts().Choose(HostPortKey(name, port), func(port uint16) bool { return used[port] })
				used[choice[i].HostPort] = true
			}
		}
		if slices.ContainsFunc(choice, func(port engine.PortBinding) bool { return port.HostPort == 0 }) {
			break
		}
		all = append(all, choice)
	}
	return all
}
