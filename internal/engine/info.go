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

package engine

import "time"

// Info is what an engine says of itself and its host.
type Info struct {
	// Name is "docker", "podman" or "simulated": who really answers, also
	// when Podman serves a Docker socket.
	Name string
	// Traits of all engines of that name, from the registry in package connect.
	Traits Traits
	// ID of the engine: the same through every endpoint that leads to it, after
	// restarts and upgrades, and another for every other engine. For machines:
	// any characters may be in it. Docker before version 23 keeps it with its
	// configuration, not with its data.
	ID string
	// StorageID is the identity of what the engine stores, for callers that
	// conclude something from "not found": never empty, the same through every
	// endpoint, after restarts and upgrades of engine and host, and another where
	// another engine, or one that lost all its data, answers at the same endpoint.
	//
	// Podman has no such identity, so its is that of StoreID. It is the same for
	// a store that was wiped, and for two hosts of one name whose stores have one path
	// and that are reached through local sockets. Docker's also changes when its
	// network database is deleted. Callers have to accept a container that they
	// find as proof of the engine, whatever its StorageID is.
	StorageID string
	// Version of the engine, APIVersion as negotiated.
	Version, APIVersion string
	// Endpoint that was connected to, without credentials.
	Endpoint string
	// ChosenBy says for users what named the endpoint, such as "DOCKER_HOST",
	// and what was passed over; empty where nothing was chosen.
	ChosenBy string
	// PassedOver are the endpoints that were tried before this one and did not
	// respond, without credentials.
	PassedOver []string
	// CgroupVersion is "1" or "2", CgroupDriver "systemd" or "cgroupfs".
	CgroupVersion, CgroupDriver string
	// Rootless: the engine runs without root on its host.
	Rootless bool
	// UserNamespaceRemap: containers that are not privileged run in another user
	// namespace than the engine.
	UserNamespaceRemap bool
	// SELinux separates containers from the host and from each other.
	SELinux bool
	// StorageDriver such as "overlay2", "btrfs", "zfs".
	StorageDriver string
	// Architecture as Go names it, Kernel release, OperatingSystem for
	// users.
	Architecture, Kernel, OperatingSystem string
	// CPUs and MemoryBytes of the host.
	CPUs        int
	MemoryBytes int64
	// Time is the engine's clock, zero where it does not report it; some round
	// it down to seconds.
	Time time.Time
	// Warnings the engine gives about itself.
	Warnings []string
}
