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

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"strings"
)

// StoreID is the ID of an engine that has none of its own: a hash of the name
// of its host and of the directory that it keeps containers and images in.
// Virtual machines may share both, such as those of "podman machine": outside
// of Linux, and where the endpoint is not a local socket, it counts too.
//
// A host that is renamed, or reached through another endpoint, gives another
// ID. What is recorded under the old one is then not found, and never taken
// for that of another engine.
func StoreID(host, directory, endpoint string) string {
	return storeID(runtime.GOOS, host, directory, endpoint)
}

func storeID(clientOS, host, directory, endpoint string) string {
	if clientOS == "linux" && strings.HasPrefix(endpoint, "unix:") {
		endpoint = ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{host, directory, endpoint}, "\x00")))
	return hex.EncodeToString(sum[:])
}
