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
)

// The address ranges of a new cluster, unless they overlap a UsedRange.
const (
	DefaultPodCIDR     = "10.244.0.0/16"
	DefaultServiceCIDR = "10.128.0.0/12"
)

// UsedRange is an address range that the Pods and Services of a new cluster must not
// overlap: they and the nodes could not reach what has these addresses.
type UsedRange struct {
	Prefix netip.Prefix
	// By says what has the range, for users, such as "route 10.0.0.0/8 of this host".
	By string
}

// Ranges of Pods and Services of a new cluster: the given ones, and for an empty one the
// first that is free. A given one that overlaps a used range, or no free one: *Error.
func Ranges(pods, services string, used []UsedRange) (podCIDR, serviceCIDR string, err error) {
	// The alternatives are where neither engines nor home and office networks take theirs
	// from, as long as there is any. The last ones belong to carriers and to benchmarks.
	podRanges := []string{DefaultPodCIDR, "10.32.0.0/16", "172.31.0.0/16", "100.64.0.0/16", "198.18.0.0/16"}
	serviceRanges := []string{DefaultServiceCIDR, "10.96.0.0/16", "172.30.0.0/16", "100.96.0.0/16", "198.19.0.0/16"}
	serviceCIDR, problems := chooseRange("--service-cidr", services, serviceRanges, withRange(used, pods, "the Pod CIDR "))
	podCIDR, found := chooseRange("--pod-cidr", pods, podRanges, withRange(used, serviceCIDR, "the Service CIDR "))
	return podCIDR, serviceCIDR, Refuse(append(found, problems...)...)
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
		problem.Remedy = "omit the flag, or use another range, such as " + candidates[free]
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

// withRange adds a range of the cluster; none if it is empty.
func withRange(used []UsedRange, cidr, name string) []UsedRange {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return used
	}
	return append(slices.Clone(used), UsedRange{Prefix: prefix, By: fmt.Sprint(name, prefix)})
}
