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

package clusters_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const domainsCluster = "domains-test"

// TestFailureDomains spreads three control planes over the three failure
// domains that are for control planes, and pins workers to one of these and to
// a fourth that is not. Machines, ContainerMachines and Nodes all say the same
// of where they are.
func TestFailureDomains(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	d := capcontest.Declare(t, eng, domainsCluster)
	domains := []clusterv1.FailureDomain{
		{Name: "edge", ControlPlane: ptr.To(false)},
		{Name: "zone-a", ControlPlane: ptr.To(true)},
		{Name: "zone-b", ControlPlane: ptr.To(true)},
		{Name: "zone-c", ControlPlane: ptr.To(true)},
	}
	d.ContainerCluster.Spec.FailureDomains = domains
	d.ControlPlane.Spec.Replicas = ptr.To[int32](3)
	d.Deployments = nil
	for _, domain := range []string{"zone-b", "edge"} {
		deployment := d.Deployment(domainsCluster+"-"+domain, 1)
		deployment.Spec.Template.Spec.FailureDomain = domain
		d.Deployments = append(d.Deployments, deployment)
	}
	d.Create(t)
	nodes := d.ComesUp(t, 5)

	cluster := &clusterv1.Cluster{}
	must.Succeed(t, d.API.Get(t.Context(), d.Key(), cluster))
	if diff := cmp.Diff(domains, cluster.Status.FailureDomains); diff != "" {
		t.Errorf("failure domains of the Cluster (-want, +got):\n%s", diff)
	}
	var controlPlanes, workers []string
	for _, machine := range capcontest.Machines(t, d.Program) {
		domain := machine.Spec.FailureDomain
		if util.IsControlPlaneMachine(&machine) {
			controlPlanes = append(controlPlanes, domain)
		} else {
			workers = append(workers, domain)
		}
		isIn(t, d, nodes, &machine, domain)
	}
	slices.Sort(controlPlanes)
	slices.Sort(workers)
	if diff := cmp.Diff([]string{"zone-a", "zone-b", "zone-c"}, controlPlanes); diff != "" {
		t.Errorf("control planes are in (-want, +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"edge", "zone-b"}, workers); diff != "" {
		t.Errorf("workers are in (-want, +got):\n%s", diff)
	}
	refusesUnknownDomain(t, d)
	d.Delete(t)
}

// isIn checks all objects that report where a machine is.
func isIn(t *testing.T, d *capcontest.Declared, nodes kubernetes.Interface, machine *clusterv1.Machine, domain string) {
	t.Helper()
	infrastructure := &infrav1.ContainerMachine{}
	must.Succeed(t, d.API.Get(t.Context(), client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}, infrastructure))
	node := must.Get(nodes.CoreV1().Nodes().Get(t.Context(), machine.Status.NodeRef.Name, metav1.GetOptions{}))(t)
	reported := map[string]string{
		"the Machine's status":                   machine.Status.FailureDomain,
		"the ContainerMachine's status":          infrastructure.Status.FailureDomain,
		"the Node's " + corev1.LabelTopologyZone: node.Labels[corev1.LabelTopologyZone],
	}
	for who, where := range reported {
		if where != domain {
			t.Errorf("%s wants %s to be in %q, and %s says %q", machine.Name, node.Name, domain, who, where)
		}
	}
}

// refusesUnknownDomain: a machine that is to be where nothing is waits, and
// says so, until it is deleted.
func refusesUnknownDomain(t *testing.T, d *capcontest.Declared) {
	t.Helper()
	deployment := d.Deployment(domainsCluster+"-zone-d", 1)
	deployment.Spec.Template.Spec.FailureDomain = "zone-d"
	d.Apply(t, deployment)
	before := len(capcontest.NodeContainers(t, d.Engine, domainsCluster))
	capcontest.Eventually(t, "the machine says that there is no such failure domain", func(ctx context.Context) (string, error) {
		found := &infrav1.ContainerMachineList{}
		if err := d.API.List(ctx, found, client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: deployment.Name}); err != nil {
			return "", err
		}
		for _, machine := range found.Items {
			for _, condition := range machine.Status.Conditions {
				if condition.Type == infrav1.ContainerReadyCondition && condition.Reason == infrav1.ContainerFailedReason {
					t.Log(condition.Message)
					return "", nil
				}
			}
		}
		return fmt.Sprintf("%d ContainerMachines do not", len(found.Items)), nil
	})
	if after := len(capcontest.NodeContainers(t, d.Engine, domainsCluster)); after != before {
		t.Errorf("there were %d containers and are %d", before, after)
	}
}
