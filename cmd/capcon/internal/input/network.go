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
	"os"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// networkName is what Docker and Podman accept, and the API too.
var networkName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$`)

func checkEngineName(name string) []Problem {
	if name == "" || len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return []Problem{{"--engine-name", name, "not the name of a ContainerEngine", "use one of \"capcon engine list\""}}
}

// checkEngines of a cluster over several.
func checkEngines(names []string, name, networkName string) []Problem {
	if len(names) == 0 {
		return nil
	}
	var problems []Problem
	text := strings.Join(names, ",")
	for _, name := range names {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			problems = append(problems, Problem{"--engines", name, "not the name of a ContainerEngine", "use some of \"capcon engine list\""})
		}
	}
	if len(names) < 2 || len(sets.New(names...)) < len(names) {
		problems = append(problems, Problem{"--engines", text, "not two or more different engines", "use --engine-name for one engine"})
	}
	if name != "" {
		problems = append(problems, Problem{"--engine-name", name, "must not be set with --engines", "omit one of them"})
	}
	if networkName == "" {
		problems = append(problems, Problem{
			"--network", "", "must be set with --engines", "use a macvlan network that exists on each of them, as docs/how-to/one-cluster-over-several-hosts.md has it",
		})
	}
	return problems
}

func checkNetwork(name string) []Problem {
	var unusable *network.UnusableError
	switch {
	case name == "":
		return nil
	case !networkName.MatchString(name):
		return []Problem{{"--network", name, "invalid network name",
			"use at most 63 letters, digits, dots, dashes and underscores"}}
	case errors.As(network.CheckName(name), &unusable):
		return []Problem{{"--network", name, "it " + unusable.Reason, unusable.Remedy}}
	}
	return nil
}

func checkRegistry(registry string) []Problem {
	if registry == "" {
		return nil
	}
	const remedy = "use HOST:PORT, such as 127.0.0.1:5000"
	switch {
	case strings.Contains(registry, "://"):
		return []Problem{{"--registry", registry, "must not have a scheme", remedy}}
	case len(checkImage("", registry+"/kindest/node:v1")) > 0, !strings.ContainsAny(registry, ".:"):
		return []Problem{{"--registry", registry, "invalid registry address", remedy}}
	}
	return nil
}

func checkCNI(cni string) []Problem {
	switch cni {
	case "", CNIAuto, CNIFlannel, CNINone:
		return nil
	}
	info, err := os.Stat(cni)
	if err == nil && info.Mode().IsRegular() {
		return nil
	}
	return []Problem{{"--cni", cni, "file not found", "use auto, flannel, none or the path of a manifest"}}
}

func checkCIDRs(ipFamily, pods, services string) []Problem {
	problems := checkCIDR("--pod-cidr", pods, DefaultPodCIDR, func(prefix netip.Prefix) string {
		// Each node gets a /24 (IPv4) or /64 (IPv6) of the range.
		if nodeBits := nodeBits(prefix); prefix.Bits() > nodeBits {
			return fmt.Sprintf("too small: each node needs a /%d", nodeBits)
		}
		return ""
	})
	problems = append(problems, checkCIDR("--service-cidr", services, DefaultServiceCIDR, func(prefix netip.Prefix) string {
		// Limits of kube-apiserver.
		const mostHostBits = 20
		// kubeadm gives the tenth address to the cluster's DNS.
		const leastHostBits = 4
		switch hostBits := prefix.Addr().BitLen() - prefix.Bits(); {
		case hostBits > mostHostBits:
			return fmt.Sprintf("too large: the limit of the API server is a /%d", prefix.Addr().BitLen()-mostHostBits)
		case hostBits < leastHostBits:
			return fmt.Sprintf("too small: kubeadm takes the tenth address for DNS; at least a /%d is needed", prefix.Addr().BitLen()-leastHostBits)
		}
		return ""
	})...)
	if len(problems) > 0 {
		return problems
	}
	return checkFamilies(ipFamily, pods, services)
}

func nodeBits(prefix netip.Prefix) int {
	const ipv4, ipv6 = 24, 64
	if prefix.Addr().Is4() {
		return ipv4
	}
	return ipv6
}

// CheckCapacity returns what is wrong with Pod CIDRs for so many nodes, of which each gets a
// part of each, as does the Machine that a rollout creates before it deletes another; empty if
// nothing is.
func CheckCapacity(podCIDRs string, nodes int) string {
	const unbounded = 30
	for _, cidr := range SplitCIDRs(podCIDRs) {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			continue // not the request's
		}
		bits := nodeBits(prefix)
		if bits-prefix.Bits() < unbounded && 1<<max(bits-prefix.Bits(), 0) < nodes+1 {
			return fmt.Sprintf("too small: each node needs a /%d, also the one that a rollout adds: %d in all", bits, nodes+1)
		}
	}
	return ""
}
