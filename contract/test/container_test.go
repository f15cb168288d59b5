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

package contract_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/contract"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/webhooks"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
)

// TestIntegrationContainer tests this provider, whose controllers run in this process on a simulated
// engine.
func TestIntegrationContainer(t *testing.T) {
	t.Parallel()
	simulation := simulated.New()
	simulatedhaproxy.Run(simulation)
	simulatednode.Run(simulation).FirstBoot(record.Done)
	for _, image := range []string{builders.NodeImage, builders.LoadBalancerImage} {
		simulation.AddImage(engine.Image{Tags: []string{image}}, nil)
	}
	objects := must.Get(contract.ReadObjects("testdata/container.yaml"))(t)
	objects.MachineTemplateChange = map[string]any{"image": "example.test/other:1"}
	contract.Run(t, contract.Provider{
		Name:      "container",
		Manifests: []string{"../../config/default"},
		Run: func(ctx context.Context, m contract.Manager) error {
			return manage(ctx, t, m, simulation)
		},
		Objects:        objects,
		Infrastructure: containers{simulation},
		Bootstrap:      contract.Bootstrap{Data: builders.InitData},
	})
}

// manage runs this provider's manager until the context ends.
func manage(ctx context.Context, t *testing.T, m contract.Manager, simulation *simulated.Engine) error {
	t.Helper()
	scheme := builders.Scheme(t)
	if err := infrav1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(m.Config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: m.WebhookHost, Port: m.WebhookPort, CertDir: m.WebhookCertDir,
		}),
	})
	if err != nil {
		return fmt.Errorf("create manager: %w", err)
	}
	if err := webhooks.Setup(mgr, webhooks.Options{}); err != nil {
		return fmt.Errorf("set up webhooks: %w", err)
	}
	err = controllers.Setup(ctx, mgr, controllers.Options{
		Engine: simulation, ClusterCache: clustercache.NewFakeEmptyClusterCache(), LoadBalancerImage: builders.LoadBalancerImage,
	})
	if err != nil {
		return fmt.Errorf("set up controllers: %w", err)
	}
	return mgr.Start(ctx)
}

// containers are what exists behind objects.
type containers struct{ *simulated.Engine }

func (c containers) names(ctx context.Context, object *unstructured.Unstructured) ([]string, error) {
	selector := map[string]string{
		identity.LabelNamespace: object.GetNamespace(), identity.LabelCluster: object.GetLabels()["cluster.x-k8s.io/cluster-name"],
	}
	if object.GetKind() == "ContainerMachine" {
		selector[identity.LabelMachine] = object.GetName()
	} else {
		selector[identity.LabelRole] = string(identity.RoleLoadBalancer)
	}
	listed, err := c.ListContainers(ctx, selector)
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	names := make([]string, 0, len(listed))
	for _, container := range listed {
		names = append(names, container.Name)
	}
	return names, nil
}

func (c containers) Exists(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	names, err := c.names(ctx, object)
	return len(names) > 0, err
}

func (c containers) Remove(ctx context.Context, object *unstructured.Unstructured) error {
	names, err := c.names(ctx, object)
	for _, name := range names {
		if err := c.RemoveContainer(ctx, name); err != nil {
			return fmt.Errorf("remove container %s: %w", name, err)
		}
	}
	return err
}
