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

package serviceloadbalancer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// HostPortsAnnotation on a Service has the ports of the engine's host that lead to it, in
// the form of "docker ps". It is only written: the container has them.
const HostPortsAnnotation = "container.infrastructure.cluster.x-k8s.io/host-ports"

// formatHostPorts returns the annotation's value for host ports by the port that each publishes.
func formatHostPorts(hostPorts map[uint16]uint16) string {
	texts := make([]string, 0, len(hostPorts))
	for _, port := range slices.Sorted(maps.Keys(hostPorts)) {
		texts = append(texts, fmt.Sprintf("127.0.0.1:%d->%d/tcp", hostPorts[port], port))
	}
	return strings.Join(texts, ", ")
}
