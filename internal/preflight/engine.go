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

package preflight

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// minCPUs is what kubeadm asks of a control plane.
	minCPUs = 2
	// A node without workload uses some 450 MiB of memory (six of them 2.7
	// GB, measured), the management plane and the rest of the host as much
	// as two.
	memoryPerNode = 512 << 20
	memoryBase    = 1 << 30
)

func engineError(err error) Item {
	switch {
	case errors.Is(err, engine.ErrUnauthorized):
		return failure("EnginePermission", err.Error(), "give the user of this process access to the engine's socket (Docker: the group docker; Pod: runAsUser 0, as in config/docker-socket and config/podman-socket), or run as another user")
	case errors.Is(err, engine.ErrUnavailable):
		return failure("EngineReachable", err.Error(),
			"start the container engine, or select another one (DOCKER_HOST for Docker, CONTAINER_HOST for Podman, or the flag --engine)")
	default:
		return failure("EngineAnswer", err.Error(), "check the log of the engine")
	}
}

// checkEngine judges what the engine says of itself.
func checkEngine(facts Facts) []Item {
	info := facts.Engine
	items := slices.Concat(checkVersion(info), checkIPv6NAT(facts), checkIsolation(facts), checkStorageDriver(info), checkClock(facts))
	if info.CPUs > 0 && info.CPUs < minCPUs {
		items = append(items, warning("CPUs",
			fmt.Sprintf("the engine has %d CPU, a control plane requires %d", info.CPUs, minCPUs),
			"add CPUs to the engine's host; otherwise, nodes are slow"))
	}
	if need := memoryBase + int64(facts.Nodes)*memoryPerNode; info.MemoryBytes > 0 && info.MemoryBytes < need {
		items = append(items, warning("Memory",
			fmt.Sprintf("the engine has %s of memory, %s need about %s", size(info.MemoryBytes), some(facts.Nodes), size(need)),
			"add memory to the engine's host, or use fewer nodes"))
	}
	return items
}

// checkVersion leaves out what is no release: development builds have the major version 0,
// or none.
func checkVersion(info engine.Info) []Item {
	major, minor, known := versionOf(info)
	traits := info.Traits
	if !known || slices.Compare([]int{major, minor}, []int{traits.OldestMajor, traits.OldestMinor}) >= 0 {
		return nil
	}
	oldest := fmt.Sprintf("%d.%d", traits.OldestMajor, traits.OldestMinor)
	return []Item{failure("EngineVersion",
		fmt.Sprintf("%s %s is not supported, the oldest supported version is %s", traits.Product, info.Version, oldest),
		fmt.Sprintf("upgrade %s to %s or later", traits.Product, oldest))}
}

// versionOf a release.
func versionOf(info engine.Info) (major, minor int, known bool) {
	read, _ := fmt.Sscanf(strings.TrimPrefix(info.Version, "v"), "%d.%d", &major, &minor)
	return major, minor, read == 2 && major > 0
}

// checkIPv6NAT: whether an older engine was configured to do it, it does not report.
func checkIPv6NAT(facts Facts) []Item {
	since := facts.Engine.Traits.IPv6NATMajor
	major, _, known := versionOf(facts.Engine)
	hasIPv6 := facts.Host == nil || facts.Host.IPv6 != 0
	if !facts.IPv6 || !hasIPv6 || !known || major >= since {
		return nil
	}
	product := facts.Engine.Traits.Product
	return []Item{warning("IPv6NAT",
		fmt.Sprintf("%s %s has no NAT for IPv6 by default: over IPv6, nodes reach each other and the host, and nothing else", product, facts.Engine.Version),
		fmt.Sprintf("upgrade %s to %d or later, or set \"experimental\" and \"ip6tables\" to true in its daemon.json; addresses of IPv4 are reached anyway", product, since))}
}

// checkStorageDriver: nodes nest their own snapshots in a volume, which any
// driver has; the node image's many files make the difference between drivers.
func checkStorageDriver(info engine.Info) []Item {
	var why string
	switch info.StorageDriver {
	case "vfs":
		why = "copies the image for each container: nodes are slow to create and use gigabytes each"
	case "devicemapper", "aufs":
		why = "is no longer maintained"
	default:
		return nil
	}
	return []Item{warning("StorageDriver",
		fmt.Sprintf("the engine's storage driver %s %s", info.StorageDriver, why),
		"use overlay2 (Docker: storage-driver in daemon.json) or overlay (Podman: driver in storage.conf); images and containers must be recreated")}
}

// size is a number of bytes for users.
func size(bytes int64) string {
	const gibibyte = 1 << 30
	return fmt.Sprintf("%.1f GiB", float64(bytes)/gibibyte)
}

// some is a number of nodes for users.
func some(nodes int) string {
	if nodes == 1 {
		return "one node would"
	}
	return fmt.Sprintf("%d nodes", nodes)
}
