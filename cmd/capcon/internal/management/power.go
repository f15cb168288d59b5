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

package management

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Power of the containers of a cluster: what the provider is doing with them.
type Power string

// The states of a cluster.
const (
	PowerOn Power = ""
	// PowerStopping also while containers cannot be stopped, which is retried.
	PowerStopping Power = "stopping"
	PowerStopped  Power = "stopped"
	PowerStarting Power = "starting"
)

// PowerOf a Cluster, by what was requested and by the condition in which the provider reports
// what came of it. There is no other source: no release has been made whose provider does not
// report it.
func PowerOf(cluster *clusterv1.Cluster, infrastructure *infrav1.ContainerCluster) Power {
	has := func(annotation string) bool {
		_, found := cluster.Annotations[annotation]
		return found
	}
	reported := ""
	if infrastructure != nil {
		reported = conditions.GetReason(infrastructure, infrav1.StoppedCondition)
	}
	switch {
	// Until a stop begins, the condition is stale.
	case has(infrav1.StoppedAnnotation) && has(infrav1.StoppingSinceAnnotation) && reported == infrav1.StoppedReason:
		return PowerStopped
	case has(infrav1.StoppedAnnotation):
		return PowerStopping
	case has(infrav1.PausedWhileStoppedAnnotation), has(infrav1.StoppingSinceAnnotation):
		return PowerStarting
	// After a start that failed, the controllers of the Machines act again.
	case has(infrav1.StartingSinceAnnotation) && reported != infrav1.StartFailedReason:
		return PowerStarting
	}
	return PowerOn
}

// PowerReport is what the provider reports of a stop or a start.
type PowerReport struct {
	Power Power
	// Message has the progress.
	Message string
	// Trouble is nil unless containers could not be stopped or started.
	Trouble *Trouble
	// Paused by its user: nothing of the cluster is reconciled.
	Paused bool
	// StopRequested is what was requested last: a stop, or a start.
	StopRequested bool
	// Deleting says that the Cluster is being deleted.
	Deleting bool
}

// ReadPower of a cluster. Absent: a NotFound error of the API.
func ReadPower(ctx context.Context, c client.Client, namespace, name string) (PowerReport, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
		return PowerReport{}, fmt.Errorf("get Cluster %q: %w", name, err)
	}
	infrastructure := &infrav1.ContainerCluster{}
	if _, err := get(ctx, c, namespace, infrastructureName(cluster, name), infrastructure); err != nil {
		return PowerReport{}, err
	}
	_, stopRequested := cluster.Annotations[infrav1.StoppedAnnotation]
	report := PowerReport{
		Power: PowerOf(cluster, infrastructure), Paused: ptr.Deref(cluster.Spec.Paused, false), Message: "waiting for the provider",
		StopRequested: stopRequested, Deleting: !cluster.DeletionTimestamp.IsZero(),
	}
	condition := conditions.Get(infrastructure, infrav1.StoppedCondition)
	if condition == nil {
		if report.Power == PowerOn {
			report.Message = "running"
		}
		return report, nil
	}
	report.Message = OneLine(condition.Message)
	expected := infrav1.StartFailedReason
	if stopRequested {
		expected = infrav1.StopFailedReason
	}
	// Another one is stale.
	if found := troublesOf("cluster "+name, []metav1.Condition{*condition}); len(found) > 0 && found[0].Reason == expected {
		report.Trouble = &found[0]
	}
	return report, nil
}

// Stop asks the provider to stop a cluster. Absent: a NotFound error of the API.
func Stop(ctx context.Context, c client.Client, namespace, name string) error {
	return annotate(ctx, c, client.ObjectKey{Namespace: namespace, Name: name}, func(cluster *clusterv1.Cluster) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.StoppedAnnotation, "")
	})
}

// Start asks the provider to start a cluster that is stopped. Absent: a NotFound error of
// the API.
func Start(ctx context.Context, c client.Client, namespace, name string) error {
	return annotate(ctx, c, client.ObjectKey{Namespace: namespace, Name: name}, func(cluster *clusterv1.Cluster) {
		delete(cluster.Annotations, infrav1.StoppedAnnotation)
	})
}

func annotate(ctx context.Context, c client.Client, key client.ObjectKey, change func(*clusterv1.Cluster)) error {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, key, cluster); err != nil {
		return fmt.Errorf("get Cluster %q: %w", key.Name, err)
	}
	before := cluster.DeepCopy()
	change(cluster)
	if maps.Equal(before.Annotations, cluster.Annotations) {
		return nil
	}
	if err := c.Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotate Cluster %q: %w", key.Name, err)
	}
	return nil
}
