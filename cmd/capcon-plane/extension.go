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
	"net"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/feature"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/extension"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/extensions"
)

// setupExtension serves the Runtime Extension for in-place updates at the webhook server, and registers it, while the feature
// gates of Cluster API are enabled. Otherwise it removes what an earlier start registered.
func setupExtension(mgr ctrl.Manager, eng engine.Engine, webhookPort int) error {
	if !feature.Gates.Enabled(feature.RuntimeSDK) || !feature.Gates.Enabled(feature.InPlaceUpdates) {
		return extensions.RemoveRegistration(mgr, infrav1.InPlaceUpdatesExtension)
	}
	if err := extension.Setup(mgr, &extension.Handlers{Client: mgr.GetClient(), Engine: eng, Host: eng}); err != nil {
		return err
	}
	registration := &extensions.Registration{Client: mgr.GetClient(), Config: extensionConfig(webhookPort, mgr.GetConfig().CAData)}
	return registration.SetupWithManager(mgr)
}

// extensionConfig of the extension at the webhook server of the plane, which has a certificate of the API server's authority. It
// is for the namespaces that users label, as that of config/runtime-extension.
func extensionConfig(webhookPort int, authority []byte) *runtimev1.ExtensionConfig {
	return &runtimev1.ExtensionConfig{
		ObjectMeta: metav1.ObjectMeta{Name: infrav1.InPlaceUpdatesExtension},
		Spec: runtimev1.ExtensionConfigSpec{
			ClientConfig: runtimev1.ClientConfig{
				URL:      "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(webhookPort)),
				CABundle: authority,
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{infrav1.InPlaceUpdatesLabel: infrav1.InPlaceUpdatesEnabled}},
		},
	}
}
