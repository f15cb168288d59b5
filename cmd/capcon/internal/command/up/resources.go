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
	"context"

	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/clusterfile"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// checkRequest refuses what this host or a file shows to be wrong.
func (r *run) checkRequest(ctx context.Context) error {
	if err := checkResources(r.request, r.session.Info); err != nil {
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

// checkResources compares the limits of each node with what it needs and with what the
// engine's host has.
func checkResources(request input.Request, info engine.Info) error {
	requested := requestedResources(request)
	limits := node.Resources{}
	if requested.CPU != nil {
		limits.MilliCPU = max(requested.CPU.MilliValue(), 1)
	}
	if requested.Memory != nil {
		limits.MemoryBytes = max(requested.Memory.Value(), 1)
	}
	flags := map[string]struct{ flag, value string }{"cpu": {"--cpus", request.CPUs}, "memory": {"--memory", request.Memory}}
	var problems []input.Problem
	for _, refused := range node.CheckResources(limits, node.Host{MilliCPU: int64(info.CPUs) * 1000, MemoryBytes: info.MemoryBytes}) {
		at := flags[refused.Field]
		problems = append(problems, input.Problem{Field: at.flag, Value: at.value, Reason: "it " + refused.Reason, Remedy: refused.Remedy})
	}
	return input.Refuse(problems...)
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
