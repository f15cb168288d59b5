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

// Package extension is a Runtime Extension of Cluster API: it answers which changes of Machines this provider carries out
// in their running containers, and whether it has. The controller of ContainerMachines does the work, so that nodes and
// status have one writer, whichever manager answers a request.
package extension

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/exp/runtime/server"
)

// timeoutSeconds of a request: a busy engine takes its time.
const timeoutSeconds = 30

// Setup serves the extension at the manager's webhook server, with its certificate.
func Setup(mgr ctrl.Manager, handlers *Handlers) error {
	extension, err := NewServer(mgr.GetWebhookServer(), handlers)
	if err != nil {
		return err
	}
	if err := mgr.Add(extension); err != nil {
		return fmt.Errorf("add server of the Runtime Extension: %w", err)
	}
	return nil
}

// NewServer returns a server that adds the handlers to another one when it is started.
func NewServer(to webhook.Server, handlers *Handlers) (*server.Server, error) {
	catalog := runtimecatalog.New()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return nil, fmt.Errorf("register hooks: %w", err)
	}
	extension, err := server.New(server.Options{Catalog: catalog})
	if err != nil {
		return nil, fmt.Errorf("create server of the Runtime Extension: %w", err)
	}
	extension.Server = started{to}
	for _, handler := range []server.ExtensionHandler{
		{Hook: runtimehooksv1.CanUpdateMachine, Name: "can-update-machine", HandlerFunc: handlers.CanUpdateMachine},
		{Hook: runtimehooksv1.CanUpdateMachineSet, Name: "can-update-machine-set", HandlerFunc: handlers.CanUpdateMachineSet},
		{Hook: runtimehooksv1.UpdateMachine, Name: "update-machine", HandlerFunc: handlers.UpdateMachine},
	} {
		handler.TimeoutSeconds = ptr.To[int32](timeoutSeconds)
		if err := extension.AddExtensionHandler(handler); err != nil {
			return nil, fmt.Errorf("add handler %s: %w", handler.Name, err)
		}
	}
	return extension, nil
}

// started is a server that another starts.
type started struct{ webhook.Server }

// Start implements webhook.Server.
func (started) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
