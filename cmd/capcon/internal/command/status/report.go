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

package status

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/certs"

	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/describe"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/nextsteps"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Report is the output of status, and with "-o json" its fields are an
// interface that scripts rely on.
type Report struct {
	Engine          session.EngineReport `json:"engine"`
	ManagementPlane planeReport          `json:"managementPlane"`
	Clusters        []ClusterReport      `json:"clusters"`
	// Containers of clusters, where the management plane does not return
	// the clusters themselves.
	Containers []containerReport `json:"containers,omitempty"`
	// Troubles of their certificates, in the same case.
	Troubles []management.Trouble `json:"troubles,omitempty"`
}

type containerReport struct {
	Cluster string        `json:"cluster"`
	Name    string        `json:"name"`
	Status  engine.Status `json:"status"`
}

type planeReport struct {
	Exists  bool   `json:"exists"`
	Answers bool   `json:"answers"`
	Detail  string `json:"detail,omitempty"`
	// Skew describes a release of the plane that differs from that of capcon.
	Skew string `json:"skew,omitempty"`
}

// ClusterReport is the status of a cluster.
type ClusterReport struct {
	Namespace         string `json:"namespace"`
	Name              string `json:"name"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// EngineName of the ContainerEngine that it is on, of a cluster over several that of its load balancer.
	EngineName string `json:"engineName,omitempty"`
	// EngineNames of all ContainerEngines that it is on; in another namespace than default, NAMESPACE/NAME.
	EngineNames   []string    `json:"engineNames,omitempty"`
	ControlPlanes countReport `json:"controlPlanes"`
	Workers       countReport `json:"workers"`
	Available     bool        `json:"available"`
	// State in a few words, with what the cluster waits for.
	State    string               `json:"state"`
	Deleting bool                 `json:"deleting,omitempty"`
	Power    management.Power     `json:"power,omitempty"`
	Troubles []management.Trouble `json:"troubles,omitempty"`
	Tree     *describe.Node       `json:"tree,omitempty"`
	// Observed objects, and the Snapshot that they were summarized to.
	Observed management.Observed `json:"-"`
	Snapshot management.Snapshot `json:"-"`
	// ready: all Machines that were asked for are, as "capcon up" and "capcon wait" look at it.
	// Cluster API calls a cluster available that lacks as many workers as maxUnavailable permits,
	// and reports it some seconds after its Nodes are ready.
	ready bool
}

type countReport struct {
	Desired int32 `json:"wanted"`
	Ready   int32 `json:"ready"`
}

// inspect engine, plane and clusters, as far as they answer. The report is
// valid also with an error.
func inspect(ctx context.Context, a *session.App, name string) (Report, error) {
	s, err := a.Connect(ctx)
	if err != nil {
		return Report{
			Engine:          session.EngineReport{Error: err.Error()},
			ManagementPlane: planeReport{Detail: "unknown, because the engine is unavailable"},
			Clusters:        []ClusterReport{},
		}, err
	}
	defer s.Close()
	return Inspect(ctx, s, name)
}

// Inspect the plane and the clusters of an engine that answered; all clusters without a name. The
// report is valid also with an error.
func Inspect(ctx context.Context, s *session.Session, name string) (Report, error) {
	result := Report{Engine: session.ReportEngine(s.Info), Clusters: []ClusterReport{}}
	plane, err := s.Plane.State(ctx)
	if err != nil {
		result.ManagementPlane.Detail = "unknown: " + management.OneLine(err.Error())
		return result, err
	}
	result.ManagementPlane = planeReport{
		Exists: plane.Exists, Answers: plane.Answers, Detail: plane.Detail, Skew: images.SkewOfPlane(plane.Image).String(),
	}
	if !plane.Answers {
		result.Containers, err = containerReports(ctx, s, name)
		result.Troubles = certs.RecordedTroubles(ctx, s, name)
		return result, errors.Join(err, s.PlaneSilent(ctx, plane, name))
	}
	if err := s.Use(plane.Kubeconfig); err != nil {
		return result, err
	}
	result.Clusters, err = Clusters(ctx, s, name)
	return result, err
}

// containerReports are the containers of the clusters that are saved.
func containerReports(ctx context.Context, s *session.Session, name string) ([]containerReport, error) {
	names := s.Records.Names()
	var result []containerReport
	for _, cluster := range names {
		if name != "" && name != cluster {
			continue
		}
		containers, err := s.Records.Containers(ctx, cluster)
		if err != nil {
			return nil, err
		}
		for _, container := range containers {
			result = append(result, containerReport{Cluster: cluster, Name: container.Name, Status: container.Status})
		}
	}
	return result, nil
}

// Clusters reports on all clusters of the management cluster, which the session uses already; with a
// name, on that cluster of the default namespace, with the tree of its objects.
func Clusters(ctx context.Context, s *session.Session, name string) ([]ClusterReport, error) {
	clusters, err := management.Clusters(ctx, s.Client)
	if err != nil {
		return nil, err
	}
	reports := []ClusterReport{}
	for i := range clusters {
		if name != "" && (clusters[i].Name != name || clusters[i].Namespace != management.Namespace) {
			continue
		}
		one, err := reportCluster(ctx, s, &clusters[i])
		if err != nil {
			return nil, err
		}
		if one.Observed.Cluster != nil { // not deleted meanwhile
			reports = append(reports, one)
		}
	}
	if name == "" {
		return reports, nil
	}
	if len(reports) == 0 {
		return reports, s.NotFound(ctx, name)
	}
	root, err := describe.Cluster(ctx, s.Client, management.Namespace, name)
	if err != nil {
		return nil, err
	}
	reports[0].Tree = &root
	return reports, nil
}

func reportCluster(ctx context.Context, s *session.Session, cluster *clusterv1.Cluster) (ClusterReport, error) {
	observed, err := management.Observe(ctx, s.Client, cluster.Namespace, cluster.Name)
	if err != nil || observed.Cluster == nil {
		return ClusterReport{}, err
	}
	snapshot := management.Summarize(observed)
	result := ClusterReport{
		Observed: observed, Snapshot: snapshot,
		Namespace: cluster.Namespace, Name: cluster.Name,
		Available: snapshot.Available, State: snapshot.State(), Deleting: snapshot.Deleting, Power: snapshot.Power, Troubles: snapshot.Troubles,
	}
	if observed.Infrastructure != nil {
		result.EngineName = observed.Infrastructure.Spec.EngineName
		result.EngineNames = management.ShownEngines(observed.Infrastructure, observed.Containers)
	}
	if !snapshot.Deleting {
		result.Troubles = append(result.Troubles, certs.Troubles(ctx, s, observed)...)
	}
	if controlPlane := observed.ControlPlane; controlPlane != nil {
		result.KubernetesVersion = controlPlane.Spec.Version
		result.ControlPlanes = countReport{ptr.Deref(controlPlane.Spec.Replicas, 1), snapshot.ReadyControlPlanes}
	}
	for _, workers := range observed.Workers {
		result.Workers.Desired += ptr.Deref(workers.Spec.Replicas, 1)
	}
	result.Workers.Ready = snapshot.ReadyWorkers
	if snapshot.PodNetworkPending {
		trouble, err := nextsteps.PodNetworkTrouble(ctx, s, observed.Cluster)
		if err != nil {
			return ClusterReport{}, err
		}
		result.Troubles = append(result.Troubles, trouble)
	}
	result.ready = snapshot.Ready()
	if snapshot.Deleting {
		return result, nil
	}
	containers, notReached, err := containers(ctx, s, observed)
	if err != nil {
		return ClusterReport{}, err
	}
	result.Troubles = withEngines(result.Troubles, notReached)
	if result.Available {
		result.Troubles = append(result.Troubles, volumeTroubles(ctx, s, observed.Cluster)...)
		result.State = stateOfContainers(containers, result.State)
		result.Available = result.State == snapshot.State()
		result.ready = result.ready && result.Available
	}
	return result, nil
}

// withEngines adds the troubles of engines that are not reached, which are the cause of what the provider cannot do in the cluster.
func withEngines(troubles, notReached []management.Trouble) []management.Trouble {
	troubles = slices.Clone(troubles)
	for i := range troubles {
		if len(notReached) > 0 && troubles[i].Reason == infrav1.WorkloadControllersNotReadyReason {
			troubles[i].Remedy = "it is retried once " + notReached[0].Object + " is reached, if that is the cause"
		}
	}
	return append(troubles, notReached...)
}

// stateOfContainers returns the state that Cluster API reports unless a container of
// the cluster has stopped: Cluster API reports it some seconds later, more after a
// restart of the engine, which ends the management plane too. Those that were created
// and not started yet belong to machines that Cluster API waits for anyway.
func stateOfContainers(containers []session.Container, reported string) string {
	for i := range containers {
		if status := containers[i].Status; status != engine.StatusRunning && status != engine.StatusCreated {
			return fmt.Sprintf("not available: container %s is %s", containers[i].Name, status)
		}
	}
	return reported
}

// containers of a cluster on all its engines; none where the session has no engine, and for a cluster that has none. An engine
// of another host that is not reached is a trouble: what is there is as Cluster API last saw it.
func containers(ctx context.Context, s *session.Session, observed management.Observed) (all []session.Container, notReached []management.Trouble, err error) {
	cluster := observed.Infrastructure
	if s.Engine == nil || cluster == nil || cluster.Spec.OwnerID == "" {
		return nil, nil, nil
	}
	owner := identity.Owner{Namespace: cluster.Namespace, Cluster: cluster.Name, ID: cluster.Spec.OwnerID}
	for _, name := range management.EngineNames(cluster, observed.Containers) {
		found, err := s.ContainersOn(ctx, owner, []string{name})
		if failed := new(session.EngineError); errors.As(err, &failed) {
			notReached = append(notReached, management.Trouble{
				Object: "ContainerEngine " + management.ShownEngine(cluster.Namespace, name), Reason: infrav1.EngineUnreachableReason, Message: management.OneLine(failed.Err.Error()), Remedy: failed.Remedy,
			})
		} else if err != nil {
			return nil, nil, err
		}
		all = append(all, found...)
	}
	return all, notReached, nil
}
