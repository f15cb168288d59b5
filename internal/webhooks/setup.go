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
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
)

// Moving is called with a ContainerCluster that clusterctl is about to delete, because another
// management cluster has it now, before the API server stores that. It is called again if
// its error refused that, or if clusterctl is started again.
type Moving func(ctx context.Context, cluster *infrav1.ContainerCluster) error

// ClusterRule returns what is wrong with a ContainerCluster, given what is wrong with it on an
// engine: for a manager that provides other things than containers.
type ClusterRule func(cluster *infrav1.ContainerCluster, errs field.ErrorList) field.ErrorList

// Options of the webhooks.
type Options struct {
	// Moving may be nil.
	Moving Moving
	// AllowedEndpoints are those that ContainerEngines may have.
	AllowedEndpoints endpoint.Allowed
	// ClusterRules may be empty.
	ClusterRules []ClusterRule
}

// Setup registers the webhooks of all kinds at the manager's webhook server.
// The configurations that lead an API server there are in config/webhook.
func Setup(mgr ctrl.Manager, options Options) error {
	for _, setup := range []func(ctrl.Manager) error{
		containerEngine(options.AllowedEndpoints).setup,
		containerCluster(options.Moving, options.ClusterRules...).setup, containerClusterTemplate().setup,
		containerMachine().setup, containerMachineTemplate().setup,
		containerMachinePool().setup, containerMachinePoolTemplate().setup,
	} {
		if err := setup(mgr); err != nil {
			return err
		}
	}
	return nil
}

// setup registers the webhooks of one kind.
func (k kind[T]) setup(mgr ctrl.Manager) error {
	var object client.Object = k.object
	builder := ctrl.NewWebhookManagedBy(mgr, k.object).WithValidator(k)
	if k.converter != nil {
		builder = builder.WithConverter(k.converter)
	}
	if k.setDefaults != nil {
		builder = builder.WithDefaulter(k)
	}
	if err := builder.Complete(); err != nil {
		return fmt.Errorf("set up webhooks of %T: %w", object, err)
	}
	return nil
}
