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
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"

	"github.com/capi-samples/cluster-api-provider-container/internal/artifacts"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
)

// LogCollector collects the artifacts of containers into files: for each machine
// its console, the log of its bootstrap, its journal, its containers and images, and
// the logs of its Pods below pods; for a load balancer its console and configuration.
// What looks like a secret, or what bootstrap data names as one, is left out.
//
// A Machine without infrastructure reference stands for the container of its own name,
// such as a node of kind's.
//
// Machines on a ContainerEngine, and load balancers there, are collected from that engine, which has to be reachable from where the suite runs.
type LogCollector struct {
	// Engine that the other containers are on: auto (default), docker or podman.
	Engine string
}

var _ framework.ClusterLogCollector = LogCollector{}

// CollectMachineLog implements framework.ClusterLogCollector. A Machine that has no
// container yet has no logs; that is no error.
func (l LogCollector) CollectMachineLog(ctx context.Context, management client.Client, machine *clusterv1.Machine, outputPath string) error {
	on, err := engineOf(ctx, management, machine)
	if err != nil {
		return err
	}
	return l.with(ctx, management, on, func(eng engine.Engine) error {
		container, err := containerOf(ctx, eng, management, machine)
		if err != nil || container == "" {
			return err
		}
		return collectNode(ctx, eng, management, source{machine.Namespace, machine.Name, container}, outputPath)
	})
}

// CollectMachinePoolLog implements framework.ClusterLogCollector: of each instance that
// the pool counts, into a directory of the container's name.
func (l LogCollector) CollectMachinePoolLog(ctx context.Context, management client.Client, pool *clusterv1.MachinePool, outputPath string) error {
	return l.with(ctx, management, client.ObjectKey{}, func(eng engine.Engine) error {
		var errs []error
		for _, id := range pool.Spec.ProviderIDList {
			container, err := instanceOf(ctx, eng, id)
			if err == nil {
				from := source{pool.Namespace, container.Labels[identity.LabelMachine], container.Name}
				err = collectNode(ctx, eng, management, from, filepath.Join(outputPath, container.Name))
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

// CollectInfrastructureLogs implements framework.ClusterLogCollector: of the load
// balancer.
func (l LogCollector) CollectInfrastructureLogs(ctx context.Context, management client.Client, cluster *clusterv1.Cluster, outputPath string) error {
	infrastructure, err := infrastructureOf(ctx, management, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return err
	}
	name, _, err := unstructured.NestedString(infrastructure.Object, "spec", "engineName")
	if err != nil {
		return fmt.Errorf("read the engine of ContainerCluster %q: %w", infrastructure.GetName(), err)
	}
	on := client.ObjectKey{Namespace: cluster.Namespace, Name: name}
	return l.with(ctx, management, on, func(eng engine.Engine) error {
		containers, err := containersOf(ctx, eng, management, client.ObjectKeyFromObject(cluster),
			map[string]string{identity.LabelRole: string(identity.RoleLoadBalancer)})
		errs := []error{err}
		for _, container := range containers {
			collector := artifacts.Collector{Engine: eng, Write: writeBelow(filepath.Join(outputPath, container.Name))}
			errs = append(errs, collector.LoadBalancer(ctx, container.Name, nil))
		}
		return errors.Join(errs...)
	})
}

// with the engine of a ContainerEngine, or without its name the one of the collector.
func (l LogCollector) with(ctx context.Context, management client.Reader, on client.ObjectKey, collect func(engine.Engine) error) error {
	var eng engine.Engine
	var err error
	if on.Name == "" {
		eng, _, err = connectEngine(ctx, l.Engine)
	} else {
		eng, err = connectObject(ctx, management, on)
	}
	if err != nil {
		return err
	}
	return errors.Join(collect(eng), eng.Close())
}

// source is a container with the name of the Machine or ContainerMachine that it is of.
type source struct {
	namespace, machine, container string
}

func collectNode(ctx context.Context, eng artifacts.Engine, management client.Client, from source, outputPath string) error {
	secrets, err := logs.BootstrapSecrets(ctx, management, from.namespace, from.machine, from.container)
	collector := artifacts.Collector{Engine: eng, Write: writeBelow(outputPath)}
	return errors.Join(err, collector.Node(ctx, from.container, secrets))
}

// instanceOf is the container of an instance of a machine pool.
func instanceOf(ctx context.Context, eng engine.ContainerReader, providerID string) (engine.Container, error) {
	name, err := identity.ParseProviderID(providerID)
	if err != nil {
		return engine.Container{}, err
	}
	container, err := eng.InspectContainer(ctx, name)
	if err != nil {
		return engine.Container{}, fmt.Errorf("inspect the instance of a machine pool: %w", err)
	}
	return container, nil
}

// containerOf a Machine: the one that its provider ID names, or else the one that was
// created for its infrastructure; empty = none.
func containerOf(ctx context.Context, eng engine.ContainerReader, management client.Client, machine *clusterv1.Machine) (string, error) {
	if container, err := identity.ParseProviderID(machine.Spec.ProviderID); err == nil {
		return container, nil
	}
	if !machine.Spec.InfrastructureRef.IsDefined() {
		return machine.Name, nil
	}
	cluster := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.ClusterName}
	containers, err := containersOf(ctx, eng, management, cluster,
		map[string]string{identity.LabelMachine: machine.Spec.InfrastructureRef.Name})
	if err != nil || len(containers) == 0 {
		return "", err
	}
	return containers[0].Name, nil
}

// containersOf a cluster that have further labels.
func containersOf(ctx context.Context, eng engine.ContainerReader, management client.Client, cluster client.ObjectKey,
	labels map[string]string,
) ([]engine.Container, error) {
	owner, err := ownerOf(ctx, management, cluster)
	if err != nil {
		return nil, err
	}
	return eng.ListContainers(ctx, owner.Select(labels))
}

// ownerOf the containers of a Cluster.
func ownerOf(ctx context.Context, management client.Client, key client.ObjectKey) (identity.Owner, error) {
	infrastructure, err := infrastructureOf(ctx, management, key)
	if err != nil {
		return identity.Owner{}, err
	}
	id, _, err := unstructured.NestedString(infrastructure.Object, "spec", "ownerID")
	if err != nil {
		return identity.Owner{}, fmt.Errorf("read the owner ID of ContainerCluster %q: %w", infrastructure.GetName(), err)
	}
	return identity.Owner{Namespace: key.Namespace, Cluster: infrastructure.GetName(), ID: id}, nil
}

// infrastructureOf a Cluster is its ContainerCluster.
func infrastructureOf(ctx context.Context, management client.Reader, key client.ObjectKey) (*unstructured.Unstructured, error) {
	cluster := &clusterv1.Cluster{}
	if err := management.Get(ctx, key, cluster); err != nil {
		return nil, fmt.Errorf("get Cluster %q: %w", key.Name, err)
	}
	return get(ctx, management, clusterKind, client.ObjectKey{Namespace: key.Namespace, Name: cluster.Spec.InfrastructureRef.Name})
}

// writeBelow writes files below a directory, and none elsewhere.
func writeBelow(directory string) func(name string, content []byte) error {
	return func(name string, content []byte) error {
		local, err := filepath.Localize(name)
		if err != nil {
			return fmt.Errorf("write %q: %w", name, err)
		}
		path := filepath.Join(directory, local)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return fmt.Errorf("create the directory of %s: %w", name, err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		return nil
	}
}
