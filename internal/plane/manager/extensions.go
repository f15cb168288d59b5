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

package manager

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/extensionconfig"
	runtimeclient "sigs.k8s.io/cluster-api/exp/runtime/client"
	"sigs.k8s.io/cluster-api/feature"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/extensions"
)

// setupExtensions sets up what calls Runtime Extensions, if the feature is enabled, and the cache
// of Secrets that has the CAs of extensions.
func (p *provider) setupExtensions(ctx context.Context) error {
	var err error
	if p.secretMetadata, err = p.secretMetadataCache(); err != nil || !feature.Gates.Enabled(feature.RuntimeSDK) {
		return err
	}
	catalog := runtimecatalog.New()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return fmt.Errorf("build catalog of hooks: %w", err)
	}
	p.extensions = extensions.New(catalog, p.mgr.GetClient())
	return p.setupReconcilers(ctx, reconciler{
		extensionConfigs(p.mgr.GetClient(), p.mgr.GetAPIReader(), p.extensions, p.secretMetadata), quick,
	})
}

// extensionConfigs discovers and registers extensions.
func extensionConfigs(c client.Client, live client.Reader, extensions runtimeclient.Client, secrets cache.Cache) *extensionconfig.Reconciler {
	return &extensionconfig.Reconciler{
		Client: c, APIReader: warmUp{live, extensions}, RuntimeClient: extensions, PartialSecretCache: secrets,
	}
}

// warmUp is what the reconciler of ExtensionConfigs reads before it starts. It would call all
// extensions then and, unless each of them answers within a minute, end the process, with the
// controllers of all clusters. This registers what was discovered last and leaves none to call:
// the reconcile of each ExtensionConfig does, again and again, and reports it in a condition.
type warmUp struct {
	client.Reader

	extensions runtimeclient.Client
}

func (w warmUp) List(ctx context.Context, _ client.ObjectList, opts ...client.ListOption) error {
	var stored runtimev1.ExtensionConfigList
	if err := w.Reader.List(ctx, &stored, opts...); err != nil {
		return fmt.Errorf("list ExtensionConfigs: %w", err)
	}
	return w.extensions.WarmUp(&stored) //nolint:wrapcheck // It names the ExtensionConfig.
}
