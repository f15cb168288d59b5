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

// Package podman keeps the contract of package engine through the API of
// Podman, 4.3 to current.
//
// It is the only package besides docker that imports an engine's SDK: of
// Podman's Go bindings the connection, which knows Unix sockets, TLS and ssh,
// and the structs that Podman answers with. The bindings' packages of calls need
// cgo, and their DoRequest sends a request up to three times, also one that
// changes something and whose body is used up; so requests are sent here, and
// the bodies are structs of this package. docs/adr/0002-podman.md has what was
// measured.
//
// What Podman does differently from Docker is settled here, each in one place:
//
//   - a name is taken for the beginning of an ID or of another name, also by the
//     removal of volumes: what has the exact name is looked at first
//     (containers.go, networks.go, volumes.go);
//   - nearly every error has the status 500, and its root cause in a field for
//     programs (request.go);
//   - a list says no addresses: running containers are inspected (containers.go);
//   - volumes are mounted without set-uid, devices and programs, a tmpfs is
//     filled from the image, systemd is detected: all is asked for otherwise
//     (spec.go);
//   - a container may have the gateway's address; what it was promised is
//     recorded in an annotation (conflicts.go);
//   - a container whose connection to a network failed cannot be inspected
//     (networks.go);
//   - the host port that the engine chooses is chosen when the container is
//     created, and kept;
//   - a pull says how many layers there are, not how many bytes (images.go);
//   - there is no event of a process that is OOMKilled, and before 5.0
//     network events do not name the network (events.go);
//   - before 5.0 a container does not record why it did not start.
package podman
