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

package dashboard

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/status"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/describe"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/trace"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// cluster on the page: what "capcon status" reports of it, and its parts.
type cluster struct {
	status.ClusterReport
	Stages    []management.Stage `json:"stages"`
	Machines  []machine          `json:"machines"`
	Balancers []balancer         `json:"balancers"`
	Objects   object             `json:"objects"`
}

// machine on the page.
type machine struct {
	Name         string `json:"name"`
	ControlPlane bool   `json:"controlPlane"`
	Ready        bool   `json:"ready"`
	// State says what it waits for, unless it is ready.
	State string `json:"state"`
	// Container is empty before it has a name, and Status where the engine does not have it.
	Container string        `json:"container,omitempty"`
	Status    engine.Status `json:"status,omitempty"`
	// Node that it became.
	Node  string `json:"node,omitempty"`
	Steps []step `json:"steps,omitempty"`
}

// step of a bootstrap.
type step struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// balancer is a load balancer of the API servers or of a Service.
type balancer struct {
	Name   string        `json:"name"`
	Status engine.Status `json:"status"`
	// Service that it is for; empty: the API servers.
	Service  string           `json:"service,omitempty"`
	Error    string           `json:"error,omitempty"`
	Backends []haproxy.Server `json:"backends"`
}

// object of the tree. Its problems are by the types of its conditions.
type object struct {
	Title      string             `json:"title"`
	Deleting   bool               `json:"deleting,omitempty"`
	Summary    *metav1.Condition  `json:"summary,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Problems   []string           `json:"problems,omitempty"`
	Children   []object           `json:"children,omitempty"`
}

func (s *source) cluster(ctx context.Context, report status.ClusterReport) (cluster, error) {
	observed := report.Observed
	tree, err := describe.Cluster(ctx, s.session.Client, report.Namespace, report.Name)
	if err != nil {
		return cluster{}, err
	}
	containers, unreached, err := s.containers(ctx, observed)
	if err != nil {
		return cluster{}, err
	}
	for _, trouble := range unreached {
		if !slices.ContainsFunc(report.Troubles, func(known management.Trouble) bool { return known.Object == trouble.Object }) {
			report.Troubles = append(report.Troubles, trouble)
		}
	}
	result := cluster{ClusterReport: report, Stages: report.Snapshot.Stages, Machines: []machine{}, Balancers: []balancer{}, Objects: objectOf(tree)}
	for _, summary := range report.Snapshot.Machines {
		at := slices.IndexFunc(observed.Machines, func(m clusterv1.Machine) bool { return m.Name == summary.Name })
		result.Machines = append(result.Machines, s.machine(ctx, summary, &observed.Machines[at], containers))
	}
	for _, container := range containers {
		if identity.Role(container.Labels[identity.LabelRole]).IsLoadBalancer() {
			result.Balancers = append(result.Balancers, s.balancer(ctx, container))
		}
	}
	return result, nil
}

// engineTimeout bounds what an engine is asked for: the clusters on others are shown too.
const engineTimeout = 10 * time.Second

// containers of a cluster on all engines that it is on, and which of them are not reached.
func (s *source) containers(ctx context.Context, observed management.Observed) (all []session.Container, unreached []management.Trouble, err error) {
	cluster := observed.Infrastructure
	if cluster == nil || cluster.Spec.OwnerID == "" {
		return nil, nil, nil
	}
	owner := identity.Owner{Namespace: cluster.Namespace, Cluster: cluster.Name, ID: cluster.Spec.OwnerID}
	for _, name := range management.EngineNames(cluster, observed.Containers) {
		limited, cancel := context.WithTimeout(ctx, engineTimeout)
		containers, err := s.session.ContainersOn(limited, owner, []string{name})
		cancel()
		if silent := new(session.EngineError); errors.As(err, &silent) {
			unreached = append(unreached, management.Trouble{
				Object: "ContainerEngine " + management.ShownEngine(cluster.Namespace, name), Reason: infrav1.EngineUnavailableReason,
				Message: "its containers are not shown: " + management.OneLine(silent.Err.Error()), Remedy: silent.Remedy, MayPass: true,
			})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, containers...)
	}
	return all, unreached, nil
}

func (s *source) machine(ctx context.Context, summary management.Machine, of *clusterv1.Machine, containers []session.Container) machine {
	result := machine{
		Name: summary.Name, ControlPlane: util.IsControlPlaneMachine(of), Ready: summary.Ready, State: summary.Detail, Node: of.Status.NodeRef.Name,
	}
	result.Container, _ = identity.ParseProviderID(of.Spec.ProviderID)
	at := slices.IndexFunc(containers, func(container session.Container) bool {
		return container.Labels[identity.LabelMachine] == of.Spec.InfrastructureRef.Name
	})
	if at < 0 {
		return result
	}
	result.Container, result.Status = containers[at].Name, containers[at].Status
	result.Steps = s.steps.of(ctx, containers[at].On.Engine, containers[at].Container)
	if !of.Status.NodeRef.IsDefined() {
		delete(s.steps, containers[at].ID)
	}
	return result
}

func (s *source) balancer(ctx context.Context, container session.Container) balancer {
	result := balancer{
		Name: container.Name, Status: container.Status, Service: container.Labels[identity.LabelService], Backends: []haproxy.Server{},
	}
	observed, err := loadbalancer.Observe(ctx, container.On.Engine, container.Name)
	if err != nil {
		result.Error = management.OneLine(err.Error())
		return result
	}
	result.Backends = append(result.Backends, observed.Backends...)
	return result
}

func objectOf(node describe.Node) object {
	result := object{Title: node.Title(), Deleting: node.Deleting, Summary: node.Summary(), Conditions: node.Conditions}
	for _, condition := range node.Problems() {
		result.Problems = append(result.Problems, condition.Type)
	}
	for _, child := range node.Children {
		result.Children = append(result.Children, objectOf(child))
	}
	return result
}

// stepCache has the steps of bootstraps that are done, by the ID of the container: they do not change.
type stepCache map[string][]step

// of a container, from its journal; none where that cannot be read.
func (c stepCache) of(ctx context.Context, e engine.Executor, container engine.Container) []step {
	if steps, cached := c[container.ID]; cached || container.Status != engine.StatusRunning {
		return steps
	}
	events, err := trace.Node(ctx, e, container.Name, container.Name, container.CreatedAt.Truncate(time.Second))
	if err != nil {
		return nil
	}
	steps := []step{}
	for _, event := range events {
		if event.Track == trace.BootstrapTrack {
			steps = append(steps, step{Name: event.Name, Seconds: event.End.Sub(event.Start).Round(time.Second / 10).Seconds()})
		}
	}
	c[container.ID] = steps
	return steps
}
