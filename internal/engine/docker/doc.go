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

// Package docker keeps the contract of package engine through the API of
// Docker Engine, 20.10 (API 1.41) to current.
//
// It is the only package besides podman that imports an engine's SDK. What
// Docker does differently from the contract is settled here, and each such
// place says what was seen of Docker:
//
//   - a name is taken for the beginning of an ID where no container has it;
//   - two networks may have one name (before Docker 25, and for a moment);
//   - static addresses need a subnet given by the user of the API;
//   - a network whose containers are all stopped can be removed;
//   - a taken host port shows only in the text of the error;
//   - an absent network is noticed when the container starts.
//
// A socket that Podman serves is spoken to as well, and Info names it.
package docker
