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

package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
)

// replicas of the pool.
const replicas = 2

var (
	errIDList   = errors.New("spec.providerIDList does not have the provider IDs of all replicas")
	errReplicas = errors.New("status.replicas differs")
	errNotReady = errors.New("status.ready is not true")
	errVersions = errors.New("the API versions differ")
)

// poolLife is that of a MachinePool.
func poolLife() scenario {
	const name = "pool"
	inapplicable := func(p Provider) string {
		if p.Objects.MachinePool == nil {
			return "Objects have no MachinePool"
		}
		return ""
	}
	return scenario{name: name, inapplicable: inapplicable, rules: ids(rulesOfPools()), steps: func(w *world) []step {
		pool := w.unpopulated(w.provider.Objects.MachinePool, name)
		becomes := func(what string, check func(*unstructured.Unstructured) error) func(context.Context) error {
			return func(ctx context.Context) error {
				return w.becomes(ctx, pool, what, func() error { return check(pool) })
			}
		}
		return []step{
			{rule: "P9", run: func(context.Context) error { return haveSameVersion(pool, w.provider.Objects.Machine) }},
			{run: func(ctx context.Context) error {
				return w.create(ctx, w.like(w.provider.Objects.Cluster, nameOfCluster))
			}},
			{run: w.createKubeconfig},
			{run: w.createCluster},
			{run: w.awaitCluster},
			{run: func(ctx context.Context) error { return w.createPool(ctx, name) }},
			{rule: "P4", essential: true, run: becomes("provisioned", poolIsProvisioned)},
			{rule: "P5", run: becomes("ready", poolIsReady)},
			{rule: "P1", run: becomes("with all provider IDs", poolHasIDs)},
			{rule: "P3", run: becomes("with its replicas", poolHasReplicas)},
			{run: w.end},
		}
	}}
}

func haveSameVersion(pool, machine *unstructured.Unstructured) error {
	if a, b := pool.GetAPIVersion(), machine.GetAPIVersion(); a != b {
		return fmt.Errorf("%w: %s, %s", errVersions, a, b)
	}
	return nil
}

func poolIsProvisioned(pool *unstructured.Unstructured) error {
	if !isProvisioned(pool) {
		return fmt.Errorf("%w: %s", errNotProvisioned, state(pool))
	}
	return nil
}

func poolIsReady(pool *unstructured.Unstructured) error {
	if !boolean(pool, "status", "ready") {
		return fmt.Errorf("%w: %s", errNotReady, state(pool))
	}
	return nil
}

func poolHasIDs(pool *unstructured.Unstructured) error {
	list, err := decode[[]string](pool, "spec", "providerIDList")
	if err != nil {
		return err
	}
	slices.Sort(list)
	if len(slices.Compact(list)) != replicas {
		return fmt.Errorf("%w: %q", errIDList, list)
	}
	return nil
}

func poolHasReplicas(pool *unstructured.Unstructured) error {
	if actual := number(pool, "status", "replicas"); actual != replicas {
		return fmt.Errorf("%w: %d instead of %d", errReplicas, actual, replicas)
	}
	return nil
}

// createKubeconfig lets the management cluster be its own workload cluster: Cluster API looks for Nodes
// before it creates the Machines of a pool.
func (w *world) createKubeconfig(ctx context.Context) error {
	const name = "contract"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: w.config.Host, CertificateAuthorityData: w.config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: w.config.CertData, ClientKeyData: w.config.KeyData, Token: w.config.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return w.create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: secret.Name(nameOfCluster, secret.Kubeconfig),
			Labels: map[string]string{clusterv1.ClusterNameLabel: nameOfCluster},
		},
		Type: clusterv1.ClusterSecretType, Data: map[string][]byte{secret.KubeconfigDataName: content},
	})
}

func ids(rules []Rule) []string {
	all := make([]string, 0, len(rules))
	for _, rule := range rules {
		all = append(all, rule.ID)
	}
	return all
}

func (w *world) createPool(ctx context.Context, name string) error {
	if err := w.createSecret(ctx, name); err != nil {
		return err
	}
	if err := w.create(ctx, w.like(w.provider.Objects.MachinePool, name)); err != nil {
		return err
	}
	return w.create(ctx, &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: clusterv1.MachinePoolSpec{
			ClusterName: nameOfCluster, Replicas: ptr.To[int32](replicas),
			Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
				ClusterName: nameOfCluster, Version: w.provider.KubernetesVersion,
				Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To(name)},
				InfrastructureRef: reference(w.provider.Objects.MachinePool.GroupVersionKind(), name),
			}},
		},
	})
}
