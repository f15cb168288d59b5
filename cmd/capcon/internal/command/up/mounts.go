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
	"fmt"
	"os"
	"path"
	"runtime"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/admission"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// checkMounts refuses paths of a file that the engine's host does not have, if the engine is on
// this host.
func (r *run) checkMounts() error {
	if r.request.Topology == nil || !r.engineIsHere() {
		return nil
	}
	var problems []input.Problem
	for _, place := range admission.Places(r.request.Topology) {
		var mounts []infrav1.Mount
		decodeVariable(place.Variables, "extraMounts", &mounts)
		for i, mount := range mounts {
			if !path.IsAbs(mount.HostPath) {
				continue // refused as such
			}
			if _, err := os.Stat(mount.HostPath); os.IsNotExist(err) {
				problems = append(problems, input.Problem{
					Field: fmt.Sprintf("%s[%d].hostPath", place.Field("extraMounts"), i), Value: mount.HostPath,
					Reason: "not found on this host", Remedy: "create it, or correct the path",
				})
			}
		}
	}
	return input.Refuse(problems...)
}

// engineIsHere reports whether paths and ports of this host are those of the engine's host.
func (r *run) engineIsHere() bool {
	return r.engineName == "" && runtime.GOOS == "linux" && !plane.IsRemote(r.session.Info) && !plane.NeedsTunnels(r.session.Info)
}
