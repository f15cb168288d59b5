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
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// checkEndpoint: with a load balancer of ours both parts may be left out, each
// by itself. Without one nobody here knows the other part. It is not demanded
// that there is an endpoint then: the Cluster may have it, or get it from its
// control plane later.
func checkEndpoint(path *field.Path, spec infrav1.ContainerClusterSpec) field.ErrorList {
	endpoint, host, port := spec.ControlPlaneEndpoint, path.Child("host"), path.Child("port")
	errs := checkHost(host, endpoint.Host)
	if spec.LoadBalancer.Type == infrav1.LoadBalancerNone {
		const remedy = "with the load balancer's type None it must be given together with the other part of the endpoint"
		switch {
		case endpoint.Host != "" && endpoint.Port == 0:
			errs = append(errs, field.Required(port, remedy))
		case endpoint.Host == "" && endpoint.Port != 0:
			errs = append(errs, field.Required(host, remedy))
		}
		return errs
	}
	if address, err := netip.ParseAddr(endpoint.Host); err == nil && len(errs) == 0 {
		errs = checkPlace(host, address, spec.Network)
	}
	if endpoint.Port == haproxy.StatusPort {
		errs = append(errs, field.Invalid(port, endpoint.Port, fmt.Sprintf(
			"is where the load balancer itself tells its state; take another one, such as %d", defaultPort)))
	}
	return errs
}

// defaultPort of API servers.
const defaultPort = 6443

// checkHost: it is written into the configuration of every node, and into the
// certificate of API servers.
func checkHost(path *field.Path, host string) field.ErrorList {
	if host == "" {
		return nil
	}
	refuse := func(reason string) field.ErrorList { return field.ErrorList{field.Invalid(path, host, reason)} }
	address, err := netip.ParseAddr(host)
	switch {
	case err == nil && (address.IsLoopback() || address.IsUnspecified() || address.IsMulticast()), host == "localhost":
		return refuse("leads each node to itself or nowhere; give an address or a name by which every node reaches the API servers")
	case err == nil:
		if err := network.CheckEndpoint(host); err != nil {
			return refuse(err.Error())
		}
		return nil
	case strings.Contains(host, "://") || strings.ContainsAny(host, "[]/") || strings.Count(host, ":") == 1:
		return refuse("is more than a host; write the address or the name alone, and the port in its own field")
	}
	// A name that ends in a number is read as an IPv4 address, and is none.
	ending := host[strings.LastIndex(host, ".")+1:]
	if wrong := validation.IsDNS1123Subdomain(host); len(wrong) > 0 || strings.Trim(ending, "0123456789") == "" {
		return refuse("is neither an address nor a DNS name; write it as 172.30.0.5 or api.example.com, in lower case")
	}
	return nil
}
