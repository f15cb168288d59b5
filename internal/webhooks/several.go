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
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// several is what a cluster over several engines, or a template of one, has of the rest.
type several struct {
	names    []string
	home     string
	selected bool
	network  infrav1.Network
	storage  infrav1.StorageType
	services infrav1.LoadBalancerType
	// publishes ports of the load balancer on the host.
	publishes bool
	// domains are how many failure domains are declared.
	domains int
}

func severalOf(spec infrav1.ContainerClusterSpec) several {
	return several{
		names: spec.EngineNames, home: spec.EngineName, selected: spec.EngineSelector != nil, network: spec.Network, storage: spec.Storage.Type,
		services: spec.ServiceLoadBalancer.Type, domains: len(spec.FailureDomains),
		publishes: spec.LoadBalancer.HostPort != 0 || spec.LoadBalancer.HostAddress != "" || len(spec.LoadBalancer.PortMappings) > 0,
	}
}

// validateSeveralEngines refuses what one layer-2 network of all hosts cannot have: engines publish no ports of containers on macvlan
// networks, and a volume is of one engine.
func validateSeveralEngines(spec *field.Path, over several) field.ErrorList {
	if len(over.names) == 0 {
		return nil
	}
	var errs field.ErrorList
	for i, name := range over.names {
		errs = append(errs, validateEngineName(spec.Child("engineNames").Index(i), name)...)
	}
	refuse := func(wrong bool, path *field.Path, value any, text string) {
		if wrong {
			errs = append(errs, field.Invalid(path, value, text))
		}
	}
	if over.network.Name == "" {
		errs = append(errs, field.Required(spec.Child("network", "name"),
			"must be set with spec.engineNames: it is a macvlan network that exists on each of these engines"))
	}
	refuse(over.network.Subnet != "", spec.Child("network", "subnet"), over.network.Subnet,
		"must not be set with spec.engineNames: the network exists already, with its subnet")
	refuse(over.home != "" && !slices.Contains(over.names, over.home), spec.Child("engineName"), over.home,
		"must be one of spec.engineNames: it is the engine of the load balancer; omit it, and the provider chooses one")
	refuse(over.selected, spec.Child("engineSelector"), "", "must not be set with spec.engineNames")
	refuse(over.storage == infrav1.StorageCluster, spec.Child("storage", "type"), over.storage,
		"must be NodeLocal or None with spec.engineNames: the volume of a cluster is on one engine")
	refuse(over.services == infrav1.LoadBalancerHAProxy, spec.Child("serviceLoadBalancer", "type"), over.services,
		"must be None with spec.engineNames: a macvlan network publishes no ports; install MetalLB or kube-vip with addresses of status.network.reservedSubnets")
	refuse(over.publishes, spec.Child("loadBalancer"), "",
		"hostPort, hostAddress and portMappings must not be set with spec.engineNames: a macvlan network publishes no ports; "+
			"the load balancer is reached at its address on the network")
	refuse(over.domains > 0, spec.Child("failureDomains"), "",
		"must not be set with spec.engineNames: the failure domains are those of the engines (spec.failureDomain of each ContainerEngine, or its name)")
	return errs
}
