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

package input

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// The values of IPFamily, as kind has them.
const (
	IPFamilyIPv4 = "ipv4"
	IPFamilyIPv6 = "ipv6"
	IPFamilyDual = "dual"
)

var families = map[string]network.Families{
	IPFamilyIPv4: {network.IPv4}, IPFamilyIPv6: {network.IPv6}, IPFamilyDual: {network.IPv4, network.IPv6},
}

// IPFamilyOf is the value for families.
func IPFamilyOf(of network.Families) string {
	switch {
	case len(of) > 1:
		return IPFamilyDual
	case of.Has(network.IPv6):
		return IPFamilyIPv6
	}
	return IPFamilyIPv4
}

// Families of a new cluster, the primary one first: those of the ranges, or those of IPFamily.
func (r Request) Families() network.Families {
	if r.PodCIDR+r.ServiceCIDR != "" {
		if of, err := network.FamiliesOf(SplitCIDRs(r.PodCIDR), SplitCIDRs(r.ServiceCIDR)); err == nil {
			return of
		}
	}
	if of, known := families[r.IPFamily]; known {
		return of
	}
	return network.Families{network.IPv4}
}

// checkFamilies of ranges, each of which is valid.
func checkFamilies(ipFamily, pods, services string) []Problem {
	requested, known := families[ipFamily]
	if ipFamily != "" && !known {
		return []Problem{{"--ip-family", ipFamily, "is no IP family", "use ipv4, ipv6 or dual"}}
	}
	var refused *network.RangesError
	if _, err := network.FamiliesOf(SplitCIDRs(pods), SplitCIDRs(services)); errors.As(err, &refused) {
		flag, value := "--pod-cidr", pods
		if refused.Field == network.ServiceRangesField {
			flag, value = "--service-cidr", services
		}
		return []Problem{{flag, value, refused.Value + " " + refused.Reason, refused.Remedy}}
	}
	if !known {
		return nil
	}
	var problems []Problem
	for _, given := range []struct{ flag, cidrs string }{{"--pod-cidr", pods}, {"--service-cidr", services}} {
		if given.cidrs == "" {
			continue
		}
		of, err := network.FamiliesOf(SplitCIDRs(given.cidrs), nil)
		if err == nil && !sameFamilies(of, requested) {
			problems = append(problems, Problem{
				given.flag, given.cidrs, fmt.Sprintf("has ranges of %v, and --ip-family is %s", of, ipFamily), "use one range of each family, or omit one of the flags",
			})
		}
	}
	return problems
}

func sameFamilies(a, b network.Families) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(family network.Family) bool { return !b.Has(family) })
}

// checkCIDR of a list, each range by itself.
func checkCIDR(flag, list, example string, refuse func(netip.Prefix) string) []Problem {
	remedy := "use another range, such as " + example
	var problems []Problem
	for _, given := range SplitCIDRs(list) {
		prefix, err := netip.ParsePrefix(given)
		switch {
		case err != nil:
			problems = append(problems, Problem{flag, given, "not in CIDR notation", remedy})
		case prefix != prefix.Masked():
			problems = append(problems, Problem{flag, given, "has host bits set", "use " + prefix.Masked().String()})
		default:
			if reason := refuse(prefix); reason != "" {
				problems = append(problems, Problem{flag, given, reason, remedy})
			}
		}
	}
	return problems
}
