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

package podman

import (
	"cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// always is the policy that survives a boot of the host everywhere:
// podman-restart.service of Podman 4.3 starts no container of another. While
// the host runs, Podman takes it as unless-stopped: what was stopped through
// its API stays stopped. After a boot that is started too.
const always = "always"

func restartPolicy(policy engine.RestartPolicy) string {
	if policy == engine.RestartUnlessStopped || policy == engine.RestartAlways {
		return always
	}
	return string(cmp.Or(policy, engine.RestartNever))
}

func observedRestartPolicy(policy string) engine.RestartPolicy {
	if policy == always {
		return engine.RestartUnlessStopped
	}
	return cmp.Or(engine.RestartPolicy(policy), engine.RestartNever)
}
