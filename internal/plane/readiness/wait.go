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

package readiness

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

// What a plane that is not ready lacks.
var (
	// ErrAPIServer: the API server does not answer, or not that it is ready.
	ErrAPIServer = errors.New("API server is not ready")
	// ErrControllers: the API server is ready, and the manager with webhooks
	// and controllers is not.
	ErrControllers = errors.New("controllers are not ready")
)

const (
	// checkTimeout bounds one check of Wait, waitInterval lies between two.
	checkTimeout = 5 * time.Second
	waitInterval = 100 * time.Millisecond
	// tryName of the Cluster that is created in a dry run.
	tryName = "capcon-readiness"
)

// Wait checks until the plane of a kubeconfig is ready or ctx ends; the error then says what
// was missing last. missing is called with each such error before.
func Wait(ctx context.Context, kubeconfig []byte, missing func(error)) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, waitInterval, true, func(ctx context.Context) (bool, error) {
		limited, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		if last = Check(limited, kubeconfig); last != nil {
			missing(last)
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for management plane: %w: %w", context.Cause(ctx), last)
	}
	return nil
}

// Check checks whether the plane of a kubeconfig is ready. The caller bounds ctx: a frozen API
// server accepts connections and never answers.
func Check(ctx context.Context, kubeconfig []byte) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	// The default roles are for users that the plane does not have until an
	// administrator creates them; the API server completes the roles up to a second after
	// the webhooks answer.
	request := leases.RESTClient().Get().AbsPath("/readyz").Param("exclude", "poststarthook/rbac/bootstrap-roles")
	if err := request.Do(ctx).Error(); err != nil {
		return fmt.Errorf("%w: %w", ErrAPIServer, err)
	}
	lease, err := leases.Leases(LeaseNamespace).Get(ctx, LeaseName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("%w: get Lease of the manager: %w", ErrControllers, err)
	}
	if err := checkLease(lease, time.Now()); err != nil {
		return err
	}
	if err := tryCreate(ctx, config); err != nil {
		return fmt.Errorf("%w: %w", ErrControllers, err)
	}
	return nil
}

func checkLease(lease *coordinationv1.Lease, now time.Time) error {
	renewed := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{})
	if age := now.Sub(renewed.Time); age > LeaseDuration {
		return fmt.Errorf("%w: manager has not renewed its Lease for %s", ErrControllers, age.Round(time.Second))
	}
	return nil
}

// tryCreate creates a Cluster in a dry run: the API server asks the webhooks,
// and nothing is stored. By a server-side apply: the API server delays a create by two
// seconds if the CRD was established less than two seconds before.
func tryCreate(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2",
		"kind":       "Cluster",
		"metadata":   map[string]any{"name": tryName},
		"spec": map[string]any{
			"infrastructureRef": map[string]any{
				"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "ContainerCluster", "name": tryName,
			},
		},
	}}
	_, err = client.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}).
		Namespace(metav1.NamespaceDefault).Apply(ctx, tryName, cluster, metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: tryName})
	if err != nil {
		return fmt.Errorf("create Cluster with dry run: %w", err)
	}
	return nil
}
