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

package up_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/readiness"
)

// What is done stays done in the lines of a pipe, and a plane that answers is not started.
func TestProgressOfUp(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = w.Become
	for _, args := range [][]string{{"up", "demo"}, {"up", "demo"}, {"up", "demo", "--workers", "1"}} {
		running := w.Plane.Current.Answers
		code, out, errs := w.Run(args...)
		if code != 0 {
			t.Fatalf("%v ended with %d:\n%s%s", args, code, out, errs)
		}
		done := map[string]bool{}
		for line := range strings.Lines(errs) {
			fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
			if len(fields) < 3 {
				continue
			}
			step, _, _ := strings.Cut(strings.TrimSpace(fields[2]), ":")
			if fields[1] == "waiting" && done[step] {
				t.Errorf("%v: %s is done and then waits again:\n%s", args, step, errs)
			}
			done[step] = done[step] || fields[1] == "done"
		}
		if running && strings.Contains(errs, "starting") {
			t.Errorf("%v: the plane runs already:\n%s", args, errs)
		}
	}
}

// What needs the user is waited for, in case the user is at it, and is called failed only when
// the command ends with it.
func TestFailureIsShownAtTheEnd(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = func() {
		w.Become()
		commandtest.Update(w, "demo", &infrav1.ContainerCluster{}, func(infrastructure *infrav1.ContainerCluster) {
			meta.SetStatusCondition(&infrastructure.Status.Conditions, metav1.Condition{
				Type: infrav1.PreflightPassedCondition, Status: metav1.ConditionFalse, Reason: infrav1.PreflightFailedReason, Message: "too few files",
			})
		})
		commandtest.Update(w, "demo", &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) {
			cluster.Status.Initialization.InfrastructureProvisioned = nil
		})
	}
	began := w.Now()
	out := w.MustFail("up", "demo", "--timeout", "2m")
	_, waited, found := strings.Cut(out, "waiting cluster demo PreflightFailed: too few files")
	if took := w.Now().Sub(began); !found || strings.Count(out, " failed ") != 1 || took < readiness.TroubleGrace || took > 2*readiness.TroubleGrace {
		t.Errorf("Want a failure that is shown when up ends, and not after %s:\n%s", took, out)
	}
	commandtest.Contains(t, waited, "failed  cluster demo PreflightFailed", "cannot become ready", "remedy: ")
	commandtest.Contains(t, out, "the command ends if this lasts for 20s")
}

// Who corrects the cause and runs the command again sees the condition of before, until the controllers have checked again.
func TestCorrectedCauseIsNoFailure(t *testing.T) {
	t.Parallel()
	const controllersCheckAgain = 17 * time.Second
	w := commandtest.New(t)
	began := w.Now()
	w.Controllers = func() {
		w.Become()
		condition := metav1.Condition{Type: infrav1.LoadBalancerReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.LoadBalancerReadyReason}
		isReady := w.Now().Sub(began) >= controllersCheckAgain
		if !isReady {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, infrav1.HostPortInUseReason, "host port 6443 is in use"
		}
		commandtest.Update(w, "demo", &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) {
			cluster.Status.Initialization.InfrastructureProvisioned = &isReady
		})
		commandtest.Update(w, "demo", &infrav1.ContainerCluster{}, func(infrastructure *infrav1.ContainerCluster) {
			meta.SetStatusCondition(&infrastructure.Status.Conditions, condition)
		})
	}
	if code, _, errs := w.Run("up", "demo"); code != 0 || !strings.Contains(errs, "host port 6443 is in use") {
		t.Errorf("exit code %d:\n%s", code, errs)
	}
}
