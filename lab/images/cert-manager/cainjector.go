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
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
)

func newCAInjector() *command {
	program := &elected{component: "cainjector", lease: "cert-manager-cainjector-leader-election"}
	c := program.command()
	c.run = func(ctx context.Context) error {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{
			clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, certmanagerv1.AddToScheme,
		} {
			if err := add(scheme); err != nil {
				return fmt.Errorf("register types: %w", err)
			}
		}
		mgr, err := program.manager(ctrl.Options{
			Scheme: scheme,
			// Of Secrets, the injectors watch the metadata only.
			Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		})
		if err != nil {
			return err
		}
		err = cainjector.RegisterAllInjectors(ctx, mgr, cainjector.SetupOptions{
			EnableCertificatesDataSource: true,
			EnabledReconcilersFor: map[string]bool{
				cainjector.MutatingWebhookConfigurationName:   true,
				cainjector.ValidatingWebhookConfigurationName: true,
				cainjector.APIServiceName:                     true,
				cainjector.CustomResourceDefinitionName:       true,
			},
		})
		if err != nil {
			return fmt.Errorf("register injectors: %w", err)
		}
		return mgr.Start(ctx)
	}
	return c
}
