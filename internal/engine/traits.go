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

// Traits are the same for all engines of one kind, and no engine reports them.
// Callers decide on these, and never on an engine's name.
type Traits struct {
	// Product is the name for users, such as "Docker".
	Product string
	// OldestMajor and OldestMinor are the oldest version that is supported.
	OldestMajor, OldestMinor int
	// IPv6NATMajor is the first major version that by default translates the IPv6 addresses of
	// containers, so that they reach others than those of the host; 0 = all do.
	IPv6NATMajor int
	// Socket is the default path of the engine's socket on the engine's host, and
	// RootlessSocket that of an engine that a user runs without root.
	Socket, RootlessSocket string
	// SocketDirectory is the name of a directory that contains the engine's socket and
	// nothing else. It is set for engines that create the socket again at each start,
	// while containers keep running: these need a mount of the directory, because a
	// mount of the socket becomes stale.
	SocketDirectory string
	// BootUnit is the systemd unit that starts the engine's containers when its host boots,
	// a user's unit for a rootless engine.
	BootUnit string
	// SocketVariable is the environment variable that names the endpoint to a client.
	SocketVariable string
	// Push is the command of its own program that pushes an image to a registry without TLS on
	// the same host.
	Push string
	// ReservedNetworks are names that cannot be a user's network: networks of the
	// engine's own, which take no static addresses, and network modes.
	ReservedNetworks []string
}
