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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/inputs"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// All problems are reported together, each with its value.
func TestAllProblemsAreReportedTogether(t *testing.T) {
	t.Parallel()
	err := create(t, inputs.Decode(t, "ContainerCluster", "bad", `
spec:
  network: {name: host, subnet: 10.0.0.1/8}
  controlPlaneEndpoint: {host: localhost, port: 8405}
  loadBalancer: {image: "not an image"}
  failureDomains: [{name: a b}, {name: ok}, {name: c/d}]`))
	if got := len(refusals(t, err)); got != 7 {
		t.Errorf("%d refusals, want 7: %v", got, err)
	}
	for _, value := range []string{`"host"`, `"10.0.0.1/8"`, `"localhost"`, "8405", `"not an image"`, `"a b"`, `"c/d"`} {
		if !strings.Contains(err.Error(), "Invalid value: "+value) {
			t.Errorf("the value %s is not reported: %v", value, err)
		}
	}
}

// What a cluster over several engines cannot have is refused, with the remedy.
func TestSeveralEngines(t *testing.T) {
	t.Parallel()
	err := create(t, inputs.Decode(t, "ContainerCluster", "bad", `
spec:
  engineNames: [a, b]
  engineName: c
  engineSelector: {}
  network: {subnet: 10.0.0.0/8}
  storage: {type: Cluster}
  serviceLoadBalancer: {type: HAProxy}
  loadBalancer: {hostAddress: 0.0.0.0}
  failureDomains: [{name: x}]`))
	if got := len(refusals(t, err)); got != 8 {
		t.Errorf("%d refusals, want 8: %v", got, err)
	}
	var before, after infrav1.ContainerCluster
	before.Spec = infrav1.ContainerClusterSpec{OwnerID: "id", EngineNames: []string{"a", "b"}, EngineName: "a", Network: infrav1.Network{Name: "lan"}}
	defaultCluster(&before)
	after = *before.DeepCopy()
	after.Spec.EngineName, after.Spec.EngineNames = "c", []string{"a", "b", "c"}
	if errs := validateClusterUpdate(&before, &after); len(errs) > 0 {
		t.Errorf("the load balancer is not moved to an engine that was added: %v", errs)
	}
	after.Spec.EngineNames = nil
	if errs := validateClusterUpdate(&before, &after); len(errs) == 0 {
		t.Error("a cluster over several engines becomes one on a single engine")
	}
}

// What tools and users make, and what comes back from a backup, is admitted.
func TestGoodInput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, kind, object string }{
		"Empty":          {"All of it is filled in or chosen.", "ContainerCluster", `spec: {}`},
		"EmptyMachine":   {"Its image is that of its version.", "ContainerMachine", `spec: {}`},
		"EmptyTemplates": {"So it is with templates.", "ContainerMachineTemplate", `spec: {template: {spec: {}}}`},
		"Moved": {"clusterctl creates what there was, without its status.", "ContainerCluster", `
metadata: {finalizers: [containercluster.infrastructure.cluster.x-k8s.io]}
spec:
  ownerID: abc
  controlPlaneEndpoint: {host: 172.18.0.2, port: 6443}
  network: {name: capcon}
  loadBalancer: {type: HAProxy, image: "haproxy:3.2", hostPort: 32768}
  failureDomains: [{name: a, controlPlane: true}]`},
		"Adopted": {"Objects are recreated with nothing but their provider ID.", "ContainerMachine", `spec: {providerID: "container:///demo-worker-0-a1b2c3d4"}`},
		"MovedMachine": {"With everything set.", "ContainerMachine", `
spec:
  providerID: "container:///demo-worker-0-a1b2c3d4"
  image: "kindest/node:v1.36.3@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  extraMounts: [{hostPath: /var/run/docker.sock, containerPath: /var/run/docker.sock}, {hostPath: /, containerPath: /host, readOnly: true}]
  bootstrapTimeout: 20m`},
		"External":      {"The endpoint is external.", "ContainerCluster", `spec: {loadBalancer: {type: None}, controlPlaneEndpoint: {host: api.example.com, port: 443}}`},
		"ExternalLater": {"A hosted control plane sets it later.", "ContainerCluster", `spec: {loadBalancer: {type: None}}`},
		"ExternalClass": {"A class has no endpoint.", "ContainerClusterTemplate", `spec: {template: {spec: {loadBalancer: {type: None}}}}`},
		"OtherFamily": {"A network with an IPv6 subnet has an IPv4 one too.", "ContainerCluster",
			`spec: {network: {subnet: "fd00:30::/64"}, controlPlaneEndpoint: {host: 172.18.0.5}}`},
		"BothFamilies": {"One subnet of each.", "ContainerCluster",
			`spec: {network: {subnet: "172.30.0.0/16,fd00:30::/64"}, controlPlaneEndpoint: {host: "fd00:30::5"}}`},
		"FirstAddress": {"Another than the first may be the gateway of a network made by hand; the controller was given this one.", "ContainerCluster",
			`spec: {network: {name: mine, subnet: 172.30.0.0/16}, controlPlaneEndpoint: {host: 172.30.0.1, port: 6443}}`},
		"SeveralEngines": {"On a network that all of them have.", "ContainerCluster",
			`spec: {engineNames: [a, b, c], network: {name: lan}, storage: {type: NodeLocal}}`},
		"EmptyPool":         {"Its instances have the image of their version.", "ContainerMachinePool", `spec: {}`},
		"EmptyPoolTemplate": {"So have those of its pools.", "ContainerMachinePoolTemplate", `spec: {template: {spec: {}}}`},
		"MovedPool": {"With everything set.", "ContainerMachinePool", `
spec:
  providerIDList: ["container:///demo-pool-0-a1b2c3d4", "container:///demo-pool-1-a1b2c3d4"]
  template: {metadata: {labels: {a: b}}, spec: {image: "kindest/node:v1.36.3", extraMounts: [{hostPath: /srv, containerPath: /srv}], bootstrapTimeout: 20m}}`},
		"LongName": {"Names of containers and hosts are cut.", "ContainerMachine", `spec: {image: "localhost:5000/node"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objectName := "good"
			if name == "LongName" {
				objectName = strings.Repeat("a", 253)
			}
			if err := create(t, inputs.Decode(t, tc.kind, objectName, tc.object)); err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	balancer := infrav1.LoadBalancer{Type: infrav1.LoadBalancerHAProxy}
	cases := map[string]struct {
		reason string
		input  infrav1.ContainerClusterSpec
		want   infrav1.ContainerClusterSpec
	}{
		"Empty": {
			"What is kept for life is written down; endpoint, port, image and network are not chosen here.",
			infrav1.ContainerClusterSpec{}, infrav1.ContainerClusterSpec{LoadBalancer: balancer},
		},
		"Set": {
			"What is set stays.",
			infrav1.ContainerClusterSpec{Network: infrav1.Network{Name: "a"}, LoadBalancer: infrav1.LoadBalancer{Type: infrav1.LoadBalancerNone}},
			infrav1.ContainerClusterSpec{Network: infrav1.Network{Name: "a"}, LoadBalancer: infrav1.LoadBalancer{Type: infrav1.LoadBalancerNone}},
		},
		"Subnet": {
			"A subnet is that of the network that the IP families of the Cluster decide.",
			infrav1.ContainerClusterSpec{Network: infrav1.Network{Subnet: "10.0.0.0/24"}},
			infrav1.ContainerClusterSpec{Network: infrav1.Network{Subnet: "10.0.0.0/24"}, LoadBalancer: balancer},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := &infrav1.ContainerCluster{Spec: tc.input}
			template := &infrav1.ContainerClusterTemplate{}
			template.Spec.Template.Spec.Network = tc.input.Network
			template.Spec.Template.Spec.LoadBalancer.Type = tc.input.LoadBalancer.Type
			// Twice is as once.
			for range 2 {
				must.Succeed(t, containerCluster(nil).Default(t.Context(), cluster))
				must.Succeed(t, containerClusterTemplate().Default(t.Context(), template))
				if diff := cmp.Diff(tc.want, cluster.Spec); diff != "" {
					t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
				}
				// A cluster must be what its template says.
				got := infrav1.ContainerClusterSpec{
					Network:      template.Spec.Template.Spec.Network,
					LoadBalancer: infrav1.LoadBalancer{Type: template.Spec.Template.Spec.LoadBalancer.Type},
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s In a template (-want, +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// A finalizer must go, whatever is wrong, and nothing is filled in any more.
func TestDeletedObjectsPass(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Unix(1, 0))
	for kind, body := range map[string]struct{ before, after string }{
		"ContainerCluster":         {`spec: {network: {name: a}, controlPlaneEndpoint: {host: a}}`, `spec: {network: {subnet: nonsense}}`},
		"ContainerClusterTemplate": {`spec: {template: {spec: {network: {name: a}}}}`, `spec: {template: {spec: {network: {name: host}}}}`},
		"ContainerMachine":         {`spec: {image: a}`, `spec: {image: "a b"}`},
		"ContainerMachineTemplate": {`spec: {template: {spec: {image: a}}}`, `spec: {template: {spec: {image: "a b"}}}`},
		"ContainerMachinePool":     {`spec: {template: {spec: {image: a}}}`, `spec: {template: {spec: {image: "a b"}}}`},
		"ContainerMachinePoolTemplate": {
			`spec: {template: {spec: {template: {spec: {image: a}}}}}`, `spec: {template: {spec: {template: {spec: {image: "a b"}}}}}`,
		},
	} {
		after := inputs.Decode(t, kind, "deleted", body.after)
		after.SetDeletionTimestamp(&now)
		want := after.DeepCopyObject()
		if err := update(t, inputs.Decode(t, kind, "deleted", body.before), after); err != nil {
			t.Errorf("%s that is being deleted: %v", kind, err)
		}
		if diff := cmp.Diff(want, after.DeepCopyObject()); diff != "" {
			t.Errorf("%s that is being deleted was changed:\n%s", kind, diff)
		}
	}
}

// An endpoint of the API servers that is not set yet is no error, but worth a
// warning.
func TestWarning(t *testing.T) {
	t.Parallel()
	for _, object := range []string{`spec: {loadBalancer: {type: None}}`, `spec: {loadBalancer: {type: None}, controlPlaneEndpoint: {host: a, port: 1}}`, `spec: {}`} {
		cluster, ok := inputs.Decode(t, "ContainerCluster", "warned", object).(*infrav1.ContainerCluster)
		if !ok {
			t.Fatal("the object is no cluster")
		}
		warnings := must.Get(containerCluster(nil).ValidateCreate(t.Context(), cluster))(t)
		if want := strings.HasSuffix(object, "{type: None}}"); (len(warnings) > 0) != want {
			t.Errorf("%s: warnings %q", object, warnings)
		}
	}
}

// An image of a version that is not known to work is a person's own choice, and
// worth the words that conditions and capcon have for it.
func TestImageWarning(t *testing.T) {
	t.Parallel()
	for image, warned := range map[string]bool{
		"kindest/node:v1.33.1": true, "localhost:5000/node:v1.33.1": true,
		"kindest/node:v1.36.3": false, "kindest/node:v1.36.99": false, "mine:latest": false, "mine:1.33.1": false, "mine:v1": false, "mine": false, "": false,
		"kindest/node@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": false,
	} {
		machine := &infrav1.ContainerMachine{Spec: infrav1.ContainerMachineSpec{ContainerMachineCommonSpec: infrav1.ContainerMachineCommonSpec{Image: image}}}
		template := &infrav1.ContainerMachineTemplate{}
		template.Spec.Template.Spec.Image = image
		pool := &infrav1.ContainerMachinePool{}
		pool.Spec.Template.Spec.Image = image
		poolTemplate := &infrav1.ContainerMachinePoolTemplate{}
		poolTemplate.Spec.Template.Spec.Template.Spec.Image = image
		for kind, got := range map[string]string{
			"ContainerMachine":             warningsOf(t, containerMachine(), machine),
			"ContainerMachineTemplate":     warningsOf(t, containerMachineTemplate(), template),
			"ContainerMachinePool":         warningsOf(t, containerMachinePool(), pool),
			"ContainerMachinePoolTemplate": warningsOf(t, containerMachinePoolTemplate(), poolTemplate),
		} {
			const tooOld = `Kubernetes version "v1.33.1" is older than v1.34, the oldest supported version; known versions: v1.37.2, `
			if warned != strings.Contains(got, tooOld) || warned != (got != "") {
				t.Errorf("%s with image %q: warnings %q", kind, image, got)
			}
		}
	}
}

func warningsOf[T client.Object](t *testing.T, k kind[T], object T) string {
	t.Helper()
	return strings.Join(must.Get(k.ValidateCreate(t.Context(), object))(t), "")
}
