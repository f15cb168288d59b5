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
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

const etcdMemberCluster = "etcd-member-test"

// endAsVoter ends the kubelet and the bootstrap as soon as the node's etcd votes. A learner
// refuses to list the members.
const endAsVoter = `pki=/etc/kubernetes/pki
until curl --silent --fail --output /dev/null --cacert $pki/etcd/ca.crt \
  --cert $pki/apiserver-etcd-client.crt --key $pki/apiserver-etcd-client.key \
  --data '{}' https://127.0.0.1:2379/v3/cluster/member/list; do sleep 0.05; done
systemctl stop kubelet; pkill -KILL kubeadm`

// TestEtcdMemberWithoutNode ends the bootstrap of a second control plane when it is a member
// of etcd and not a Node yet, and deletes its Machine. With its container alone removed, etcd
// would lose one of two votes, and the cluster its API server.
func TestEtcdMemberWithoutNode(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	d := capcontest.Declare(t, eng, etcdMemberCluster)
	d.Deployments = nil
	d.Create(t)
	d.ComesUp(t, 1)
	first := capcontest.NodeContainers(t, eng, etcdMemberCluster)[0].Name
	capcontest.Edit(t, d.API, d.Key(), &controlplanev1.KubeadmControlPlane{}, func(c *controlplanev1.KubeadmControlPlane) {
		c.Spec.Replicas = ptr.To[int32](3)
	})
	key := client.ObjectKey{Namespace: d.Cluster.Namespace, Name: endSecondAsVoter(t, d, first)}
	machine := &clusterv1.Machine{}
	capcontest.Eventually(t, "the Machine is deleted", func(ctx context.Context) (string, error) {
		if err := d.API.Get(ctx, key, machine); err != nil {
			return "", err
		}
		return "", d.API.Delete(ctx, machine)
	})
	if machine.Status.NodeRef.IsDefined() {
		t.Fatalf("Machine %s has become a Node: nothing was tested", key.Name)
	}
	d.ComesUp(t, 3)
	etcdHealthy(t, d)
	for _, machine := range capcontest.Machines(t, d.Program) {
		if machine.Name == key.Name {
			t.Errorf("Machine %s is still there", key.Name)
		}
	}
	d.Delete(t)
}

// endSecondAsVoter returns the Machine of the second control plane.
func endSecondAsVoter(t *testing.T, d *capcontest.Declared, first string) string {
	t.Helper()
	var machine string
	capcontest.Eventually(t, "the second control plane votes in etcd", func(ctx context.Context) (string, error) {
		containers, err := capcontest.ListNodeContainers(ctx, d.Engine, etcdMemberCluster)
		if err != nil {
			return "", err
		}
		for _, container := range containers {
			if container.Name == first || container.Status != engine.StatusRunning {
				continue
			}
			machine = container.Labels[identity.LabelMachine]
			_, err := d.Engine.Exec(ctx, container.Name, engine.Command{Args: []string{"bash", "-c", endAsVoter}})
			return "", err
		}
		return "no container of a second control plane runs", nil
	})
	return machine
}
