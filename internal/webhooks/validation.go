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

package webhooks

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// validateEndpoint: with a load balancer of ours both parts may be left out, each
// by itself. Without one the other part is unknown. It is not required
// that there is an endpoint then: the Cluster may have it, or get it from its
// control plane later.
func validateEndpoint(path *field.Path, spec infrav1.ContainerClusterSpec) field.ErrorList {
	endpoint, host, port := spec.ControlPlaneEndpoint, path.Child("host"), path.Child("port")
	errs := validateHost(host, endpoint.Host)
	if spec.LoadBalancer.Type == infrav1.LoadBalancerNone {
		const remedy = "must be set together with the other field of the endpoint if spec.loadBalancer.type is None"
		switch {
		case endpoint.Host != "" && endpoint.Port == 0:
			errs = append(errs, field.Required(port, remedy))
		case endpoint.Host == "" && endpoint.Port != 0:
			errs = append(errs, field.Required(host, remedy))
		}
		return errs
	}
	// That of a cluster on the engine of an object is the host's.
	if address, err := netip.ParseAddr(endpoint.Host); err == nil && len(errs) == 0 && spec.EngineName == "" {
		errs = validateAddress(host, address, spec.Network)
	}
	if endpoint.Port == haproxy.StatusPort && spec.EngineName == "" {
		errs = append(errs, field.Invalid(port, endpoint.Port, fmt.Sprintf(
			"is reserved for the load balancer's status; use another port, such as %d", defaultPort)))
	}
	return errs
}

// defaultPort of API servers.
const defaultPort = 6443

// validateHost: it is written into the configuration of every node, and into the
// certificate of API servers.
func validateHost(path *field.Path, host string) field.ErrorList {
	if host == "" {
		return nil
	}
	refuse := func(reason string) field.ErrorList { return field.ErrorList{field.Invalid(path, host, reason)} }
	address, err := netip.ParseAddr(host)
	switch {
	case err == nil && (address.IsLoopback() || address.IsUnspecified() || address.IsMulticast()), host == "localhost":
		return refuse("is not reachable from nodes; use an address or DNS name by which all nodes reach the API servers")
	case err == nil:
		// Which families the cluster has, only the Cluster says.
		if err := network.CheckEndpoint(host, network.Families{network.IPv4, network.IPv6}); err != nil {
			return refuse(err.Error())
		}
		return nil
	case strings.Contains(host, "://") || strings.ContainsAny(host, "[]/") || strings.Count(host, ":") == 1:
		return refuse("is not a host; use an address or DNS name without scheme and port, and set the port in its own field")
	}
	// A name that ends in a number is read as an IPv4 address, and is none.
	ending := host[strings.LastIndex(host, ".")+1:]
	if wrong := validation.IsDNS1123Subdomain(host); len(wrong) > 0 || strings.Trim(ending, "0123456789") == "" {
		return refuse("is neither an IP address nor a lower case DNS name; use for example 172.30.0.5 or api.example.com")
	}
	return nil
}

const invalidZone = "is not a valid value of the zone label of Nodes; use at most 63 letters, digits, dashes, underscores and dots, beginning and ending with a letter or digit"

// validateFailureDomains: each becomes the label topology.kubernetes.io/zone of
// Nodes, and a kubelet that is given none of the right form does not start.
func validateFailureDomains(path *field.Path, domains []clusterv1.FailureDomain) field.ErrorList {
	var errs field.ErrorList
	for i, domain := range domains {
		if wrong := validation.IsValidLabelValue(domain.Name); len(wrong) > 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), domain.Name, invalidZone))
		}
	}
	return errs
}

func validateLimits(path *field.Path, limits infrav1.Limits) field.ErrorList {
	if limits.HostPortRange == "" {
		return nil
	}
	if _, err := network.ParseHostPortRange(limits.HostPortRange); err != nil {
		return field.ErrorList{field.Invalid(path.Child("hostPortRange"), limits.HostPortRange, err.Error())}
	}
	return nil
}

// validateImage: an empty one is chosen by the controllers.
func validateImage(path *field.Path, image string) field.ErrorList {
	if image == "" {
		return nil
	}
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return field.ErrorList{field.Invalid(path, image,
			"is not a valid image reference; use NAME:TAG or NAME@DIGEST, in lower case")}
	}
	return nil
}

// warnImage of a node image whose tag is a version of Kubernetes that
// is not known to work here. The version of a machine is set in
// Cluster API's objects, where controllers find it; a tag is no more than a
// hint, and a person may know better.
func warnImage(path *field.Path, image string) admission.Warnings {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return nil
	}
	tagged, ok := named.(reference.Tagged)
	if !ok {
		return nil
	}
	version, isVersion := strings.CutPrefix(tagged.Tag(), "v")
	if _, err := semver.Parse(version); err != nil || !isVersion {
		return nil
	}
	if _, err := node.Minor(tagged.Tag()); err != nil {
		return admission.Warnings{path.String() + " is " + image + ": " + err.Error()}
	}
	return nil
}

// validateLoadBalancer: endpointPort is that of the cluster, 0 = the default.
func validateLoadBalancer(path *field.Path, given infrav1.LoadBalancer, endpointPort int32) field.ErrorList {
	if given.Type == infrav1.LoadBalancerNone {
		return validateNoLoadBalancer(path, given)
	}
	errs := validateImage(path.Child("image"), given.Image)
	errs = append(errs, validateHostAddress(path.Child("hostAddress"), given.HostAddress)...)
	refuse := func(at *field.Path, port int32) {
		switch port {
		case haproxy.StatusPort:
			errs = append(errs, field.Invalid(at, port, "is reserved for the load balancer's status; use another port"))
		case cmp.Or(endpointPort, defaultPort):
			errs = append(errs, field.Invalid(at, port, "is the port of the control plane endpoint; remove it"))
		}
	}
	for i, port := range given.AdditionalPorts {
		refuse(path.Child("additionalPorts").Index(i), port)
	}
	hostPorts := sets.New(given.HostPort)
	for i, mapping := range given.PortMappings {
		at := path.Child("portMappings").Index(i)
		refuse(at.Child("containerPort"), mapping.ContainerPort)
		errs = append(errs, validateHostAddress(at.Child("address"), mapping.Address)...)
		if hostPorts.Has(mapping.HostPort) {
			errs = append(errs, field.Invalid(at.Child("hostPort"), mapping.HostPort, "is a duplicate; use another port"))
		}
		hostPorts.Insert(mapping.HostPort)
	}
	return errs
}

// validateNoLoadBalancer: there is nothing that could use the other fields.
func validateNoLoadBalancer(path *field.Path, given infrav1.LoadBalancer) field.ErrorList {
	const remedy = "must not be set if the type is None; remove it, or use the type HAProxy"
	var errs field.ErrorList
	if given.Image != "" {
		errs = append(errs, field.Invalid(path.Child("image"), given.Image, remedy))
	}
	if given.HostPort != 0 {
		errs = append(errs, field.Invalid(path.Child("hostPort"), given.HostPort, remedy))
	}
	if given.HostAddress != "" {
		errs = append(errs, field.Invalid(path.Child("hostAddress"), given.HostAddress, remedy))
	}
	if len(given.PortMappings) > 0 {
		errs = append(errs, field.Forbidden(path.Child("portMappings"), remedy))
	}
	if len(given.AdditionalPorts) > 0 {
		errs = append(errs, field.Invalid(path.Child("additionalPorts"), given.AdditionalPorts, remedy))
	}
	return errs
}

func validateNetwork(path *field.Path, given infrav1.Network) field.ErrorList {
	var errs field.ErrorList
	var unusable *network.UnusableError
	if errors.As(network.CheckName(given.Name), &unusable) {
		errs = append(errs, field.Invalid(path.Child("name"), given.Name, unusable.Reason+"; "+unusable.Remedy))
	}
	var refused *network.SubnetError
	if _, err := network.ParseSubnets(given.Subnet); errors.As(err, &refused) {
		reason := refused.Reason
		if refused.Subnet != given.Subnet {
			reason = refused.Subnet + " " + reason
		}
		errs = append(errs, field.Invalid(path.Child("subnet"), given.Subnet, reason+"; "+refused.Remedy))
	}
	return errs
}

// validateAddress says whether a container on the network can have the address. It
// can say so only of a subnet that is given.
func validateAddress(path *field.Path, address netip.Addr, given infrav1.Network) field.ErrorList {
	subnets, err := network.ParseSubnets(given.Subnet)
	at := slices.IndexFunc(subnets, func(subnet netip.Prefix) bool { return subnet.Addr().BitLen() == address.BitLen() })
	if err != nil || at < 0 {
		return nil
	}
	var refused *network.SubnetError
	if errors.As(network.CheckAddress(subnets[at], address), &refused) {
		return field.ErrorList{field.Invalid(path, address.String(),
			"cannot be the address of the load balancer: subnet "+refused.Subnet+" "+refused.Reason+"; "+refused.Remedy+", or omit it to have one allocated")}
	}
	return nil
}

// validateUnchangedOnceSet refuses another value than the one there was, if there was one. The
// reason completes "is immutable once set (X): …".
func validateUnchangedOnceSet[T comparable](path *field.Path, before, after T, reason string) field.ErrorList {
	var none T
	if before == none || before == after {
		return nil
	}
	return field.ErrorList{field.Invalid(path, after, fmt.Sprintf("is immutable once set (%v): %s", before, reason))}
}

const templateIsImmutable = "is immutable, because objects were created from the template; create a new template, and reference it"

// validateImmutable refuses each field that differs, with the same message.
func validateImmutable(path *field.Path, before, after any, message string) field.ErrorList {
	old, oldErr := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	now, nowErr := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if oldErr != nil || nowErr != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("compare fields: %w, %w", oldErr, nowErr))}
	}
	names := sets.KeySet(old).Union(sets.KeySet(now)).UnsortedList()
	slices.Sort(names)
	var errs field.ErrorList
	for _, name := range names {
		if !equality.Semantic.DeepEqual(old[name], now[name]) {
			errs = append(errs, field.Invalid(path.Child(name), now[name], message))
		}
	}
	return errs
}
