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
	"errors"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// fillNetwork: a cluster stays on the network it began on, whatever a later
// release takes for one that names none.
func fillNetwork(given *infrav1.Network) {
	if given.Name == "" {
		given.Name = network.DefaultName
	}
}

func checkNetwork(path *field.Path, given infrav1.Network) field.ErrorList {
	var errs field.ErrorList
	var unusable *network.UnusableError
	if errors.As(network.CheckName(given.Name), &unusable) {
		errs = append(errs, field.Invalid(path.Child("name"), given.Name, unusable.Reason+"; "+unusable.Remedy))
	}
	if given.Subnet == "" {
		return errs
	}
	var refused *network.SubnetError
	if _, err := network.ParseSubnet(given.Subnet); errors.As(err, &refused) {
		errs = append(errs, field.Invalid(path.Child("subnet"), given.Subnet, refused.Reason+"; "+refused.Remedy))
	}
	return errs
}

// checkPlace says whether a container on the network can have the address. It
// can say so only of a subnet that is given.
func checkPlace(path *field.Path, address netip.Addr, given infrav1.Network) field.ErrorList {
	subnet, err := network.ParseSubnet(given.Subnet)
	if err != nil || subnet.Addr().BitLen() != address.BitLen() {
		return nil
	}
	var refused *network.SubnetError
	if errors.As(network.CheckAddress(subnet, address), &refused) {
		return field.ErrorList{field.Invalid(path, address.String(),
			"cannot be the load balancer's: subnet "+refused.Subnet+" "+refused.Reason+"; "+refused.Remedy+", or leave it out to have one chosen")}
	}
	return nil
}
