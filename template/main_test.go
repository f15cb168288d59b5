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

package main

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capi-samples/cluster-api-provider-container/contract"
	"github.com/capi-samples/cluster-api-provider-container/template/servers"
)

// TestIntegrationContract tests the provider against the contract of Cluster API.
func TestIntegrationContract(t *testing.T) {
	t.Parallel()
	fake := servers.NewFake()
	objects, err := contract.ReadObjects("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	contract.Run(t, contract.Provider{
		Name:      "sample",
		Manifests: []string{"config/default"},
		Run: func(ctx context.Context, m contract.Manager) error {
			return run(ctx, m.Config, options{
				webhookHost: m.WebhookHost, webhookPort: m.WebhookPort, webhookCertDir: m.WebhookCertDir, several: true,
			}, fake)
		},
		Objects:        objects,
		Infrastructure: infrastructure{fake},
	})
}

// infrastructure says what exists behind objects.
type infrastructure struct{ servers servers.Servers }

func name(object *unstructured.Unstructured) string {
	name := object.GetNamespace() + "/" + object.GetLabels()["cluster.x-k8s.io/cluster-name"]
	if object.GetKind() == "SampleMachine" {
		name += "/" + object.GetName()
	}
	return name
}

func (i infrastructure) Exists(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	_, err := i.servers.Get(ctx, name(object))
	if errors.Is(err, servers.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (i infrastructure) Remove(ctx context.Context, object *unstructured.Unstructured) error {
	return i.servers.Delete(ctx, name(object))
}
