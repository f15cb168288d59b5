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

package target

import (
	"context"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engineobject"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// connectEngine returns a connection to the engine of that name: auto, docker or
// podman, where auto is Docker where it answers, or else Podman. Empty is auto.
func connectEngine(ctx context.Context, name string) (engine.Engine, engine.Info, error) {
	eng, err := connect.Connect(ctx, connect.Options{Engine: name})
	if err != nil {
		return nil, engine.Info{}, fmt.Errorf("connect to the container engine: %w", err)
	}
	info, err := eng.Info(ctx)
	if err != nil {
		_ = eng.Close()
		return nil, engine.Info{}, fmt.Errorf("get engine info: %w", err)
	}
	return eng, info, nil
}

// engineOf a Machine names the ContainerEngine that its container is on; no name = that of the manager.
func engineOf(ctx context.Context, management client.Reader, machine *clusterv1.Machine) (client.ObjectKey, error) {
	if machine.Spec.InfrastructureRef.Kind != machineKind {
		return client.ObjectKey{}, nil
	}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}
	infrastructure, err := get(ctx, management, machineKind, key)
	if err != nil {
		return client.ObjectKey{}, client.IgnoreNotFound(err)
	}
	key.Name = infrastructure.GetAnnotations()[infrav1.EngineNameAnnotation]
	return key, nil
}

// connectObject returns a connection to the engine of a ContainerEngine, from this machine and with its credentials.
func connectObject(ctx context.Context, management client.Reader, name client.ObjectKey) (engine.Engine, error) {
	object, err := get(ctx, management, engineKind, name)
	if err != nil {
		return nil, err
	}
	containerEngine := &infrav1.ContainerEngine{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, containerEngine); err != nil {
		return nil, fmt.Errorf("read ContainerEngine %q: %w", name.Name, err)
	}
	at, err := endpoint.Parse(containerEngine.Spec.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("read ContainerEngine %q: spec.endpoint %w", name.Name, err)
	}
	secret := &corev1.Secret{}
	if err := management.Get(ctx, client.ObjectKey{Namespace: name.Namespace, Name: containerEngine.Spec.CredentialsSecretName}, secret); err != nil {
		return nil, fmt.Errorf("get credentials of ContainerEngine %q: %w", name.Name, err)
	}
	connection, err := engineobject.NewClient(at, engineobject.CredentialsOf(secret.Data), connect.Remote)
	if err != nil {
		return nil, fmt.Errorf("read credentials of ContainerEngine %q: %w", name.Name, err)
	}
	return connection, nil
}

// get an object of the provider. Untyped: the scheme of the client is the suite's.
func get(ctx context.Context, management client.Reader, kind string, key client.ObjectKey) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind))
	if err := management.Get(ctx, key, object); err != nil {
		return nil, fmt.Errorf("get %s %q: %w", kind, key.Name, err)
	}
	return object, nil
}

// Socket is where the engine's socket lies on the engine's host, and where the
// provider expects it in a node of a management cluster. With Podman both are the
// directory of the socket: its service makes a new socket at each start.
type Socket struct {
	HostPath, ContainerPath string
}

// EngineSocket returns where the socket of an engine lies that a management cluster's
// nodes need: auto, docker or podman. No engine answers: an error that says what was
// tried.
func EngineSocket(ctx context.Context, name string) (Socket, error) {
	eng, info, err := connectEngine(ctx, name)
	if err != nil {
		return Socket{}, err
	}
	return socketOf(info), eng.Close()
}

// socketOf: config/docker-socket and config/podman-socket mount the container's path into
// the provider's Pod.
func socketOf(info engine.Info) Socket {
	socket := plane.EngineSocket(info)
	if info.Traits.SocketDirectory != "" {
		return Socket{HostPath: path.Dir(socket), ContainerPath: path.Dir(info.Traits.Socket)}
	}
	return Socket{HostPath: socket, ContainerPath: info.Traits.Socket}
}
