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

package up_test

import (
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	ingressFile = `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: demo
nodes:
- role: control-plane
  extraPortMappings:
  - {containerPort: 80, hostPort: 8080}
- role: worker
  extraPortMappings:
  - {containerPort: 53, hostPort: 5353, listenAddress: 127.0.0.1, protocol: UDP}
`
	manifestFile = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: demo}
spec:
  topology:
    classRef: {name: container}
    version: v1.36.3
    controlPlane: {replicas: 1}
    variables:
    - {name: portMappings, value: [{containerPort: 80, hostPort: 8080}]}
    workers:
      machineDeployments:
      - {class: worker, name: worker, replicas: 2}
`
)

func TestUpChecksHostPorts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, file string
		// held are recorded by a container of a cluster.
		cluster, held string
		used          []string
		want          string
	}{
		"free":          {"The ports are free.", ingressFile, "other", "127.0.0.1:8081/tcp,127.0.0.1:8080/udp", []string{"tcp 0.0.0.0:5353"}, ""},
		"load balancer": {"Its container could not start.", ingressFile, "other", "127.0.0.1:8080/tcp", nil, `cluster.yaml:7: nodes[0].extraPortMappings[0].hostPort "0.0.0.0:8080/tcp": is published by container other-lb; use another host port`},
		"node":          {"Nor could that of a node.", ingressFile, "other", "0.0.0.0:5353/udp", nil, `cluster.yaml:10: nodes[1].extraPortMappings[0].hostPort "127.0.0.1:5353/udp": is published by container other-lb`},
		"process":       {"It need not be a container.", ingressFile, "", "", []string{"tcp 0.0.0.0:8080"}, `nodes[0].extraPortMappings[0].hostPort "0.0.0.0:8080/tcp": is used by a process of this host`},
		"own":           {"The cluster publishes it, and a process of the engine listens.", ingressFile, "demo", "0.0.0.0:8080/tcp", []string{"tcp 0.0.0.0:8080"}, ""},
		"all nodes":     {"Only one Machine can have it.", manifestFile, "", "", nil, `cluster.yaml:10: spec.topology.variables[portMappings].value[0].hostPort "8080": cannot be published by 3 Machines`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.New(t)
			w.UsedPorts = tc.used
			if tc.held != "" {
				must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
					Name: tc.cluster + "-lb", Image: commandtest.HAProxyImage,
					Labels: map[string]string{identity.LabelCluster: tc.cluster, identity.LabelHostPorts: tc.held},
				}))(t)
			}
			code, out, errs := w.Run("up", "-f", saved(t, tc.file), "--dry-run")
			if (code == 0) != (tc.want == "") {
				t.Fatalf("%s up ended with %d:\n%s%s", tc.reason, code, out, errs)
			}
			commandtest.Contains(t, out+errs, tc.want)
			if tc.want == "" {
				return
			}
			commandtest.Contains(t, w.MustFail("up", "-f", saved(t, tc.file)), tc.want)
			if w.Plane.Created > 0 || len(w.Clusters()) > 0 {
				t.Errorf("%s Something was created", tc.reason)
			}
		})
	}
}
