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

package certs_test

import (
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
)

// TestCertsOverEngines: the nodes on engines that are reached are shown, also where that of the load balancer is not. Nothing is
// renewed without the others.
func TestCertsOverEngines(t *testing.T) {
	t.Parallel()
	w, build, other := commandtest.Spread(t)
	w.AddContainerOn(other, "demo-c", identity.Owner{Namespace: "default", Cluster: "demo", ID: "demo-id"}, identity.RoleControlPlane)
	for name, on := range map[string]*simulated.Engine{"demo-a": build, "demo-c": other} {
		must.Succeed(t, must.Get(simulatednode.NewControlPlane(t, on, w.Now))(t).Init(name))
	}
	before := len(other.MutatingCalls())
	commandtest.Contains(t, w.MustRun("certs", "demo"), "demo-a  apiserver", "demo-c  apiserver")
	w.BreakEngine("build", "connection refused")
	for _, args := range [][]string{{"certs", "demo"}, {"certs"}} {
		code, out, errs := w.Run(args...)
		commandtest.Contains(t, out, "demo-c  apiserver")
		commandtest.Lacks(t, out, "demo-a")
		if commandtest.Contains(t, errs, `cluster "demo": engine "build": the management plane does not reach it`); code != 1 {
			t.Errorf("%v ended with %d", args, code)
		}
	}
	commandtest.Contains(t, w.MustFail("certs", "renew", "demo"), `engine "build": the management plane does not reach it`)
	if calls := other.MutatingCalls()[before:]; len(calls) > 0 {
		t.Errorf("renewed some: %v", calls)
	}
}
