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

package up

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/admission"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/clusterfile"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// checkRequest refuses what this host or a file shows to be wrong.
func (r *run) checkRequest(ctx context.Context) error {
	if r.session.InMemory {
		return nil // nothing of this host is used
	}
	if err := r.checkLimits(ctx); err != nil {
		return err
	}
	if err := r.checkMounts(); err != nil {
		return err
	}
	if err := r.checkPorts(ctx); err != nil {
		return err
	}
	r.warnOfTag()
	_, err := podNetwork(r.request.CNI, images.NodeImage{}, input.DefaultPodCIDR)
	return err
}

// warnOfTag of a node image, which is a hint only: the image itself is read once it is on the engine.
func (r *run) warnOfTag() {
	version := r.request.KubernetesVersion
	switch tagged := clusterfile.VersionOf(r.request.Image); {
	case r.request.Image == "":
	case tagged == "" && version == "":
		r.session.Warnf("the tag of image %s is no Kubernetes version: that of the cluster is assumed, for a new one %s; to set another, use --kubernetes-version",
			r.request.Image, input.DefaultKubernetes())
	case tagged != "" && version != "" && tagged != version:
		r.session.Warnf("the tag of image %s is another Kubernetes version than %s", r.request.Image, version)
	}
}

// checkLimits of nodes on the engine of the cluster, which is not asked without any.
func (r *run) checkLimits(ctx context.Context) error {
	if r.request.Topology == nil && requestedResources(r.request) == (infrav1.MachineResources{}) {
		return nil
	}
	on, err := r.on(ctx)
	if err != nil {
		return err
	}
	return checkResources(r.request, on.Info)
}

// checkResources compares the limits of each node with what it needs and with what the
// engine's host has.
func checkResources(request input.Request, info engine.Info) error {
	host := node.Host{MilliCPU: int64(info.CPUs) * 1000, MemoryBytes: info.MemoryBytes}
	flags := map[string]string{"cpu": "--cpus", "memory": "--memory"}
	problems := refusedResources(requestedResources(request), host, func(field string) string { return flags[field] })
	given := map[string]string{"--cpus": request.CPUs, "--memory": request.Memory}
	for i := range problems {
		problems[i].Value = given[problems[i].Field]
	}
	if request.Topology == nil {
		return input.Refuse(problems...)
	}
	for _, place := range admission.Places(request.Topology) {
		var own infrav1.MachineResources
		var ofRoles infrav1.RoleResources
		decodeVariable(place.Variables, objects.ResourcesVariable, &own)
		decodeVariable(place.Variables, objects.RoleResourcesVariable, &ofRoles)
		for path, limits := range map[string]infrav1.MachineResources{
			place.Field(objects.ResourcesVariable):                       own,
			place.Field(objects.RoleResourcesVariable) + ".controlPlane": ofRoles.ControlPlane,
			place.Field(objects.RoleResourcesVariable) + ".workers":      ofRoles.Workers,
		} {
			problems = append(problems, refusedResources(limits, host, func(field string) string { return path + "." + field })...)
		}
	}
	slices.SortStableFunc(problems, func(a, b input.Problem) int { return cmp.Compare(a.Field, b.Field) })
	return input.Refuse(problems...)
}

// refusedResources of a node, with the flag or the path of each.
func refusedResources(requested infrav1.MachineResources, host node.Host, pathOf func(field string) string) []input.Problem {
	limits, values := node.Resources{}, map[string]string{}
	if requested.CPU != nil {
		limits.MilliCPU, values["cpu"] = max(requested.CPU.MilliValue(), 1), requested.CPU.String()
	}
	if requested.Memory != nil {
		limits.MemoryBytes, values["memory"] = max(requested.Memory.Value(), 1), requested.Memory.String()
	}
	var problems []input.Problem
	for _, refused := range node.CheckResources(limits, host) {
		problems = append(problems, input.Problem{Field: pathOf(refused.Field), Value: values[refused.Field], Reason: "it " + refused.Reason, Remedy: refused.Remedy})
	}
	return problems
}

// requestedResources of each node. The quantities were checked before.
func requestedResources(request input.Request) infrav1.MachineResources {
	var requested infrav1.MachineResources
	if quantity, err := resource.ParseQuantity(request.CPUs); err == nil {
		requested.CPU = &quantity
	}
	if quantity, err := resource.ParseQuantity(request.Memory); err == nil {
		requested.Memory = &quantity
	}
	return requested
}
