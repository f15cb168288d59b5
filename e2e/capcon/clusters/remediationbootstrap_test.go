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
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	bootstrapsCluster = "bootstraps-test"
	// unhealthyAfter is longer than a bootstrap takes on a busy machine.
	unhealthyAfter = 90 * time.Second
)

// countBootstrap writes down each bootstrap, in a directory that all nodes
// have in common, and lets every other one fail, beginning with the first.
const countBootstrap = `number="$(ls /mnt/bootstraps | wc -l)"; touch "/mnt/bootstraps/${number} $(hostname)"; test "$((number % 2))" -eq 1`

// TestRemediationOfBootstrap has the bootstraps of the first, the second and
// the third control plane fail, each at the first attempt. The Machine says
// so, a MachineHealthCheck finds it, and the KubeadmControlPlane replaces it:
// before there is an API server, where there is one etcd member, and where
// there are two.
//
// The engine has to be on this host: the nodes have a directory of it.
func TestRemediationOfBootstrap(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	bootstraps := t.TempDir()
	d := capcontest.Declare(t, eng, bootstrapsCluster)
	d.Deployments = nil
	d.ControlPlane.Spec.Replicas = ptr.To[int32](3)
	d.ControlPlane.Spec.KubeadmConfigSpec.PreKubeadmCommands = []string{countBootstrap}
	d.Machines.Spec.Template.Spec.ExtraMounts = []infrav1.Mount{{HostPath: bootstraps, ContainerPath: "/mnt/bootstraps"}}
	start := time.Now()
	d.Create(t)
	watchHealth(t, d.API, bootstrapsCluster)
	for _, ordinal := range []string{"first", "second", "third"} {
		if !t.Run(ordinal, func(t *testing.T) { replacesFailed(t, d) }) {
			t.Fatalf("the %s control plane was not replaced; those after it need it", ordinal)
		}
	}
	d.ComesUp(t, 3)
	t.Logf("three control planes ready after %s, three failed bootstraps included", time.Since(start).Round(time.Second))
	etcdHealthy(t, d)
	checkBootstraps(t, bootstraps, capcontest.Machines(t, d.Program))
	d.Delete(t)
}

// replacesFailed waits for a bootstrap to fail, and for its Machine to be gone.
func replacesFailed(t *testing.T, d *capcontest.Declared) {
	var failed client.ObjectKey
	capcontest.EventuallyWithin(t, 10*time.Minute, "a bootstrap that failed", func(ctx context.Context) (string, error) {
		found := &infrav1.ContainerMachineList{}
		if err := d.API.List(ctx, found, client.MatchingLabels{clusterv1.ClusterNameLabel: bootstrapsCluster}); err != nil {
			return "", err
		}
		var states []string
		for i := range found.Items {
			machine := &found.Items[i]
			bootstrap := conditions.Get(machine, infrav1.BootstrapCompletedCondition)
			if bootstrap != nil && bootstrap.Reason == infrav1.BootstrapFailedReason && machine.DeletionTimestamp.IsZero() {
				failed = client.ObjectKeyFromObject(machine)
				t.Logf("%s: %s", machine.Name, bootstrap.Message)
				return "", nil
			}
			states = append(states, fmt.Sprintf("%s: %v", machine.Name, bootstrap))
		}
		return "none of " + strings.Join(states, "; "), nil
	})
	start := time.Now()
	capcontest.EventuallyWithin(t, unhealthyAfter+capcontest.Patience, failed.Name+" is replaced", func(ctx context.Context) (string, error) {
		machine := &clusterv1.Machine{}
		err := d.API.Get(ctx, failed, machine)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%v, %v", conditions.Get(machine, clusterv1.MachineHealthCheckSucceededCondition),
			conditions.Get(machine, clusterv1.MachineOwnerRemediatedCondition)), nil
	})
	t.Logf("gone %s after it failed", time.Since(start).Round(time.Second))
}

// etcdHealthy: nothing of the Machines that failed is left in etcd.
func etcdHealthy(t *testing.T, d *capcontest.Declared) {
	t.Helper()
	capcontest.Eventually(t, "etcd is healthy", func(ctx context.Context) (string, error) {
		controlPlane := &controlplanev1.KubeadmControlPlane{}
		if err := d.API.Get(ctx, d.Key(), controlPlane); err != nil {
			return "", err
		}
		healthy := conditions.Get(controlPlane, controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition)
		if healthy == nil || healthy.Status != metav1.ConditionTrue {
			return healthy.String(), nil
		}
		return "", nil
	})
}

// checkBootstraps: there were two for each control plane, and the Machines
// there are in the end are those of the second ones.
func checkBootstraps(t *testing.T, directory string, machines []clusterv1.Machine) {
	t.Helper()
	entries := must.Get(os.ReadDir(directory))(t)
	var want, got []string
	for _, machine := range machines {
		want = append(want, machine.Name)
	}
	for _, entry := range entries {
		number, name, _ := strings.Cut(entry.Name(), " ")
		if slices.Contains([]string{"1", "3", "5"}, number) {
			got = append(got, name)
		} else if slices.Contains(want, name) {
			t.Errorf("Machine %s is there, whose bootstrap failed", name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(entries) != 6 {
		t.Errorf("There were %d bootstraps; Machines (-there are, +were bootstrapped):\n%s", len(entries), diff)
	}
}

// watchHealth makes Cluster API replace Machines whose infrastructure is not ready for
// unhealthyAfter. It is not ready while a bootstrap runs either.
func watchHealth(t *testing.T, api client.Client, cluster string) {
	t.Helper()
	check := &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: cluster},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: cluster,
			Selector:    metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
			Checks: clusterv1.MachineHealthCheckChecks{
				UnhealthyMachineConditions: []clusterv1.UnhealthyMachineCondition{{
					Type:   clusterv1.MachineInfrastructureReadyCondition,
					Status: metav1.ConditionFalse, TimeoutSeconds: ptr.To(int32(unhealthyAfter.Seconds())),
				}},
			},
		},
	}
	if err := api.Create(t.Context(), check); err != nil {
		t.Fatalf("create MachineHealthCheck: %v", err)
	}
}
