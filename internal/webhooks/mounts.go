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
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

func checkMounts(path *field.Path, mounts []infrav1.Mount) field.ErrorList {
	var errs field.ErrorList
	for _, refused := range node.CheckMounts(nodeMounts(mounts), bootstrap.Paths()) {
		side := "containerPath"
		if refused.OfHost {
			side = "hostPath"
		}
		errs = append(errs, field.Invalid(path.Index(refused.Index).Child(side), refused.Path, refused.Reason+"; "+refused.Remedy))
	}
	return errs
}

func nodeMounts(mounts []infrav1.Mount) []node.Mount {
	converted := make([]node.Mount, 0, len(mounts))
	for _, mount := range mounts {
		converted = append(converted, node.Mount{
			HostPath: mount.HostPath, ContainerPath: mount.ContainerPath, ReadOnly: ptr.Deref(mount.ReadOnly, false),
		})
	}
	return converted
}
