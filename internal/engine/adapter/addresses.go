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

package adapter

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Addresses parses those of the texts that are addresses, with or without a prefix length.
func Addresses(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		text, _, _ = strings.Cut(text, "/")
		if address, err := netip.ParseAddr(text); err == nil {
			out = append(out, address)
		}
	}
	return out
}

// Join is the text of addresses.
func Join(addresses []netip.Addr, separator string) string {
	texts := make([]string, 0, len(addresses))
	for _, address := range addresses {
		texts = append(texts, address.String())
	}
	return strings.Join(texts, separator)
}

// CheckAttachment checks that the network exists, and has subnets for the addresses. Engines
// notice only when the container starts.
func CheckAttachment(ctx context.Context, networks engine.Networks, attachment engine.Attachment) error {
	if attachment.Network == "" {
		return nil
	}
	existing, err := networks.InspectNetwork(ctx, attachment.Network)
	if err != nil {
		return err
	}
	return Permits(existing.Subnets, attachment.Addresses)
}

// Permits reports whether the addresses lie in the network's subnets. Engines say so
// only when the container starts, and Docker before version 25 as an internal error.
func Permits(subnets []engine.Subnet, desired []netip.Addr) error {
	for _, address := range desired {
		if !slices.ContainsFunc(subnets, func(s engine.Subnet) bool { return s.Prefix.Contains(address) }) {
			return engine.WithKind(fmt.Errorf("address %s is in no subnet of the network", address), engine.ErrInvalid)
		}
	}
	return nil
}
