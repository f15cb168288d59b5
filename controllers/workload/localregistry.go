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

package workload

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// LocalRegistry is a registry on the user's host that nodes pull from.
type LocalRegistry struct {
	// Host is where images are pushed to on the host, such as localhost:5001.
	Host string
	// Mirror is the host and port by which nodes reach it.
	Mirror string
}

// localRegistry is the first that image names call localhost, and that has a mirror: what
// a node calls localhost is no registry.
func localRegistry(registries []infrav1.Registry) LocalRegistry {
	for _, registry := range registries {
		if !strings.HasPrefix(registry.Host, "localhost:") || len(registry.Mirrors) == 0 {
			continue
		}
		if mirror, err := url.Parse(registry.Mirrors[0].URL); err == nil {
			return LocalRegistry{Host: registry.Host, Mirror: mirror.Host}
		}
	}
	return LocalRegistry{}
}

// The ConfigMap by which tools such as Tilt and Skaffold find a local registry, from KEP-1755.
const (
	hostingName = "local-registry-hosting"
	hostingKey  = "localRegistryHosting.v1"
	managedBy   = "app.kubernetes.io/managed-by"
	managerName = "cluster-api-provider-container"
)

// publishInterval is the time between two attempts at a workload cluster that does not respond.
const publishInterval = 5 * time.Second

// PublishLocalRegistry creates, updates or deletes the ConfigMap by which tools find the
// local registry of a cluster. One of another owner stays. It returns when that is done or
// ctx ends.
func PublishLocalRegistry(ctx context.Context, config *rest.Config, registry LocalRegistry, report Report) error {
	workload, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("create client of the workload cluster: %w", err)
	}
	_ = wait.PollUntilContextCancel(ctx, publishInterval, true, func(ctx context.Context) (bool, error) {
		err := publish(ctx, workload, registry)
		if ctx.Err() == nil {
			report(Registries, "", err)
		}
		return err == nil, nil
	})
	return nil
}

func publish(ctx context.Context, workload client.Client, registry LocalRegistry) error {
	published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: hostingName}}
	err := workload.Get(ctx, client.ObjectKeyFromObject(published), published)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get ConfigMap %s: %w", hostingName, err)
	}
	exists := err == nil
	switch {
	case exists && published.Labels[managedBy] != managerName, !exists && registry.Host == "":
		return nil
	case registry.Host == "":
		if err := workload.Delete(ctx, published); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s: %w", hostingName, err)
		}
		return nil
	}
	_, err = controllerutil.CreateOrUpdate(ctx, workload, published, func() error {
		metav1.SetMetaDataLabel(&published.ObjectMeta, managedBy, managerName)
		published.Data = map[string]string{hostingKey: fmt.Sprintf(
			"host: %q\nhostFromContainerRuntime: %q\nhostFromClusterNetwork: %q\n", registry.Host, registry.Mirror, registry.Mirror)}
		return nil
	})
	if err != nil {
		return fmt.Errorf("apply ConfigMap %s: %w", hostingName, err)
	}
	return nil
}
