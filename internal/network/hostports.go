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
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// Host ports are chosen from 20000 to 29999: below the ephemeral ports of
	// Linux (32768 up) and the node ports of Kubernetes (30000 to 32767),
	// above what services are registered for most.
	firstHostPort, hostPorts = 20000, 10000
	// maxCandidates is how many choices are tried.
	maxCandidates = 32
)

// HostPortCandidates are the choices of host ports to try for a container, in order: those
// that are given stay, and a free one is chosen for each that is 0. They are chosen
// here and not by the engine, which would choose another one each time the
// container starts. They follow from the container's name, so that one that is
// created again most likely gets them again.
func HostPortCandidates(name string, ports []engine.PortBinding) [][]engine.PortBinding {
	if !slices.ContainsFunc(ports, func(port engine.PortBinding) bool { return port.HostPort == 0 }) {
		return [][]engine.PortBinding{ports}
	}
	all := make([][]engine.PortBinding, 0, maxCandidates)
	for i := range uint64(maxCandidates) {
		choice, used := slices.Clone(ports), map[uint16]bool{}
		for _, port := range ports {
			used[port.HostPort] = true
		}
		for j, port := range choice {
			if port.HostPort != 0 {
				continue
			}
			hash := fnv.New32a()
			_, _ = fmt.Fprintf(hash, "%s %d/%s", name, port.ContainerPort, port.Protocol.Name())
			offset := uint64(hash.Sum32()) + i*97
			for used[hostPort(offset)] {
				// Another port of this container has the same candidate.
				offset++
			}
			choice[j].HostPort = hostPort(offset)
			used[choice[j].HostPort] = true
		}
		all = append(all, choice)
	}
	return all
}

func hostPort(offset uint64) uint16 {
	return uint16(firstHostPort + offset%hostPorts) //nolint:gosec // Below 30000.
}
