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

package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxLength is the limit of characters in a container's name and in a host name, which is a DNS label. A longer name of
// a machine is cut and gets a hash of the whole.
// +limit
const MaxLength = 63

// hashLength is how many hexadecimal digits distinguish two truncated names: 32 bits
// keep a collision among a thousand names below one in eight thousand.
const hashLength = 8

// Shorten returns name unchanged where it fits into limit characters, else its
// beginning and a hash of the whole, so that different names stay different.
func Shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return strings.TrimRight(name[:limit-hashLength-1], "-.") + "-" + hash(name)
}

// HostName returns the host name, and so the Node name, of a machine: the
// machine's name, shortened where it exceeds a DNS label.
func HostName(machine string) string {
	return Shorten(machine, MaxLength)
}

// containerName joins cluster and what it is, and makes the result unique by
// a hash over the owner and the kind too: clusters of one name in two
// namespaces or two management clusters share an engine, and a machine may
// have the name that a load balancer has.
func containerName(owner Owner, kind, name string) string {
	readable := name
	if readable != owner.Cluster && !strings.HasPrefix(readable, owner.Cluster+"-") {
		readable = owner.Cluster + "-" + name
	}
	// The part before the hash is for users; it must be a valid beginning
	// of a container's name, which API object names are but for dots.
	readable = strings.ReplaceAll(readable, ".", "-")
	const suffix = hashLength + 1
	if len(readable) > MaxLength-suffix {
		readable = strings.TrimRight(readable[:MaxLength-suffix], "-")
	}
	return readable + "-" + hash(owner.Namespace, owner.Cluster, owner.ID, kind, name)
}

// hash is not for secrecy: it only has to differ where its parts differ. The
// separator cannot occur in the names of API objects.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:hashLength]
}
