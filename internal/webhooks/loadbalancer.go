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
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
)

func checkLoadBalancer(path *field.Path, given infrav1.LoadBalancer) field.ErrorList {
	if given.Type != infrav1.LoadBalancerNone {
		return checkImage(path.Child("image"), given.Image)
	}
	const remedy = "there is no load balancer where the type is None; leave it out, or take the type HAProxy"
	var errs field.ErrorList
	if given.Image != "" {
		errs = append(errs, field.Invalid(path.Child("image"), given.Image, remedy))
	}
	if given.HostPort != 0 {
		errs = append(errs, field.Invalid(path.Child("hostPort"), given.HostPort, remedy))
	}
	return errs
}
