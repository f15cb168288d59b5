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
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// The address ranges of a new cluster, unless they overlap a UsedRange.
const (
	DefaultPodCIDR     = "10.244.0.0/16"
	DefaultServiceCIDR = "10.128.0.0/12"

	DefaultPodCIDRv6     = "fd00:10:244::/56"
	DefaultServiceCIDRv6 = "fd00:10:96::/112"
)

// UsedRange is an address range that the Pods and Services of a new cluster must not
// overlap: they and the nodes could not reach what has these addresses.
type UsedRange struct {
	Prefix netip.Prefix
	// By says what has the range, for users, such as "route 10.0.0.0/8 of this host".
	By string
}

// The ranges of a family to choose from. The alternatives of IPv4 are where neither engines nor
// home and office networks take theirs from, as long as there is any. The last ones belong to
// carriers and to benchmarks. Those of IPv6 begin with kind's.
var (
	podRanges = map[network.Family][]string{
		network.IPv4: {DefaultPodCIDR, "10.32.0.0/16", "172.31.0.0/16", "100.64.0.0/16", "198.18.0.0/16"},
		network.IPv6: {DefaultPodCIDRv6, "fd00:32:244::/56", "fd64:10:244::/56"},
	}
	serviceRanges = map[network.Family][]string{
		network.IPv4: {DefaultServiceCIDR, "10.96.0.0/16", "172.30.0.0/16", "100.96.0.0/16", "198.19.0.0/16"},
		network.IPv6: {DefaultServiceCIDRv6, "fd00:32:96::/112", "fd64:10:96::/112"},
	}
)

// Ranges of Pods and Services of a new cluster, as comma-separated lists: the requested ones, and
// where there are none, for each family the first that is free. A requested one that overlaps a
// used range, or no free one: *Error.
func Ranges(request Request, used []UsedRange) (podCIDR, serviceCIDR string, err error) {
	families := request.Families()
	services, problems := chooseRanges("--service-cidr", request.ServiceCIDR, families, serviceRanges, withRanges(used, request.PodCIDR, "the Pod CIDR "))
	pods, found := chooseRanges("--pod-cidr", request.PodCIDR, families, podRanges, withRanges(used, services, "the Service CIDR "))
	return pods, services, Refuse(append(found, problems...)...)
}

// chooseRanges are the given ones, or one of each family.
func chooseRanges(flag, given string, families network.Families, candidates map[network.Family][]string, used []UsedRange) (string, []Problem) {
	wanted := SplitCIDRs(given)
	if given == "" {
		wanted = make([]string, len(families))
	}
	var chosen []string
	var problems []Problem
	for i, each := range wanted {
		family := network.IPv4
		if prefix, err := netip.ParsePrefix(each); err == nil {
			family = network.FamilyOf(prefix.Addr())
		} else if given == "" {
			family = families[i]
		}
		cidr, found := chooseRange(flag, each, candidates[family], used)
		chosen, problems = append(chosen, cidr), append(problems, found...)
	}
	return strings.Join(chosen, ","), problems
}

// SplitCIDRs of a comma-separated list, as flags of Kubernetes have it; none of an empty one.
func SplitCIDRs(list string) []string {
	if list == "" {
		return nil
	}
	ranges := strings.Split(list, ",")
	for i := range ranges {
		ranges[i] = strings.TrimSpace(ranges[i])
	}
	return ranges
}

// chooseRange returns the given range, or the first candidate that overlaps nothing.
func chooseRange(flag, given string, candidates []string, used []UsedRange) (string, []Problem) {
	free := slices.IndexFunc(candidates, func(candidate string) bool { return overlapping(candidate, used) == "" })
	switch {
	case given == "" && free >= 0:
		return candidates[free], nil
	case given == "":
		return "", []Problem{{Field: flag, Reason: "no free address range found", Remedy: "set one that is free"}}
	}
	by := overlapping(given, used)
	if by == "" {
		return given, nil
	}
	problem := Problem{Field: flag, Value: given, Reason: "overlaps " + by, Remedy: "use another range"}
	if free >= 0 {
		problem.Remedy = "omit it, or use another range, such as " + candidates[free]
	}
	return given, []Problem{problem}
}

// overlapping says which used range the range overlaps; empty = none.
func overlapping(given string, used []UsedRange) string {
	prefix, err := netip.ParsePrefix(given)
	at := slices.IndexFunc(used, func(other UsedRange) bool { return err == nil && prefix.Overlaps(other.Prefix) })
	if at < 0 {
		return ""
	}
	return used[at].By
}

// withRanges adds ranges of the cluster.
func withRanges(used []UsedRange, cidrs, name string) []UsedRange {
	used = slices.Clone(used)
	for _, cidr := range SplitCIDRs(cidrs) {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			used = append(used, UsedRange{Prefix: prefix, By: fmt.Sprint(name, prefix)})
		}
	}
	return used
}
