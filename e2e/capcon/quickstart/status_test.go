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

package quickstart_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// statusReport is what scripts read of "capcon status -o json".
type statusReport struct {
	Engine          struct{ Error string }
	ManagementPlane struct{ Answers bool }
	Clusters        []clusterStatus
	Containers      []struct{ Name, Status string }
}

type clusterStatus struct {
	Name, State string
	Available   bool
	Workers     struct{ Wanted, Ready int32 }
}

// good reports whether the status says that the cluster is as desired.
func (c clusterStatus) good() bool {
	return c.Available || c.State == "available"
}

// statusOf runs the program, and returns its exit code.
func statusOf(ctx context.Context, c *capcontest.Program) (report statusReport, code int, err error) {
	arguments := []string{"status", c.Cluster, "-o", "json"}
	output, err := c.Command(ctx, arguments...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code, err = exit.ExitCode(), nil
	}
	if err != nil {
		return report, code, fmt.Errorf("capcon %s: %w", strings.Join(arguments, " "), err)
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return report, code, fmt.Errorf("capcon %s printed %q: %w", strings.Join(arguments, " "), output, err)
	}
	return report, code, nil
}

// statusIsUnknown while engine or management plane does not run: the program says
// which, lists no cluster, and of the containers reports what the engine says.
func statusIsUnknown(t *testing.T, program *capcontest.Program) {
	t.Helper()
	report, code, err := statusOf(t.Context(), program)
	t.Logf("status: exit code %d, %+v", code, report)
	must.Succeed(t, err)
	if code != 1 || len(report.Clusters) > 0 || report.ManagementPlane.Answers {
		t.Errorf("status ends with %d and prints %+v, want 1 and nothing of clusters", code, report)
	}
	if report.Engine.Error == "" && len(report.Containers) == 0 {
		t.Error("status prints nothing about the containers, while the engine answers")
	}
}

// statusIsGood waits until the program says that the cluster is available.
func statusIsGood(t *testing.T, program *capcontest.Program) {
	t.Helper()
	capcontest.Eventually(t, "status is good", func(ctx context.Context) (string, error) {
		report, code, err := statusOf(ctx, program)
		if err != nil || code == 0 && len(report.Clusters) == 1 && report.Clusters[0].good() {
			return "", err
		}
		return fmt.Sprintf("exit code %d, %+v", code, report), nil
	})
}

// statusWatch asks for the status again and again.
type statusWatch struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// watchStatus fails the test where the cluster is said to be available while one of
// its containers does not run, from before the program begins until after it ends.
func watchStatus(t *testing.T, eng engine.Engine, program *capcontest.Program) *statusWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watch := &statusWatch{cancel: cancel}
	t.Cleanup(watch.end)
	reported := map[string]int{}
	watch.ended.Go(func() {
		defer func() { t.Logf("status meanwhile: %v", reported) }()
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		for ; ctx.Err() == nil; next(ctx, ticker.C) {
			before, beforeErr := stopped(ctx, eng, program.Cluster)
			report, code, err := statusOf(ctx, program)
			after, afterErr := stopped(ctx, eng, program.Cluster)
			if ctx.Err() != nil {
				return
			}
			state := "unknown"
			if len(report.Clusters) == 1 {
				state = report.Clusters[0].State
			}
			reported[fmt.Sprintf("%d %.60s", code, state)]++
			if err != nil {
				t.Errorf("status: %v", err)
			}
			if beforeErr != nil || afterErr != nil || len(report.Clusters) == 0 {
				continue
			}
			both := slices.DeleteFunc(before, func(container string) bool { return !slices.Contains(after, container) })
			if len(both) > 0 && report.Clusters[0].good() {
				t.Errorf("status says %q while these do not run: %q", state, both)
			}
		}
	})
	return watch
}

func (w *statusWatch) end() {
	w.cancel()
	w.ended.Wait()
}

// next waits for a tick, or the end.
func next(ctx context.Context, tick <-chan time.Time) {
	select {
	case <-tick:
	case <-ctx.Done():
	}
}

// stopped are the containers of the cluster that do not run. A Service's load balancer is
// no part of it: the Service has an address later.
func stopped(ctx context.Context, eng engine.Engine, cluster string) ([]string, error) {
	containers, err := eng.ListContainers(ctx, map[string]string{identity.LabelCluster: cluster})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	var names []string
	for _, container := range containers {
		if container.Status != engine.StatusRunning && container.Labels[identity.LabelService] == "" {
			names = append(names, container.Name)
		}
	}
	return names, nil
}

// notAvailable is the exit code of "capcon status" if a cluster is not available.
const notAvailable = 4

// stoppedIsNotAvailable: the program reports a worker that is kept stopped, for as
// long as it is. Cluster API needs a moment to carry it from the container's object
// to the Cluster.
func stoppedIsNotAvailable(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	t.Helper()
	statusIsGood(t, program)
	worker, api := capcontest.AnyWorker(t, eng, program.Cluster), capcontest.Management(t, program)
	key := client.ObjectKey{Namespace: worker.Labels[identity.LabelNamespace], Name: worker.Labels[identity.LabelMachine]}
	maintain := func(change func(*infrav1.ContainerMachine)) {
		t.Helper()
		capcontest.Edit(t, api, key, &infrav1.ContainerMachine{}, change)
	}
	maintain(func(m *infrav1.ContainerMachine) {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.MaintenanceAnnotation, "")
	})
	must.Succeed(t, eng.StopContainer(t.Context(), worker.Name, 10*time.Second))
	start := time.Now()
	var last clusterStatus
	capcontest.Eventually(t, "status reports the stopped worker", func(ctx context.Context) (string, error) {
		report, code, err := statusOf(ctx, program)
		if err != nil || len(report.Clusters) != 1 {
			return fmt.Sprintf("exit code %d, %+v", code, report), err
		}
		if last = report.Clusters[0]; code != notAvailable || last.good() || last.Workers.Ready == last.Workers.Wanted {
			return fmt.Sprintf("exit code %d, it says %+v", code, last), nil
		}
		return "", nil
	})
	t.Logf("reported after %.1fs: %s", time.Since(start).Seconds(), last.State)
	for range 5 {
		if report, _, err := statusOf(t.Context(), program); err != nil || len(report.Clusters) != 1 || report.Clusters[0].good() {
			t.Errorf("while the worker is stopped, status reports %+v, %v", report, err)
		}
	}
	if got, err := stopped(t.Context(), eng, program.Cluster); err != nil || !cmp.Equal([]string{worker.Name}, got) {
		t.Errorf("the worker did not stay stopped: %q, %v", got, err)
	}
	maintain(func(m *infrav1.ContainerMachine) { delete(m.Annotations, infrav1.MaintenanceAnnotation) })
	statusIsGood(t, program)
}
