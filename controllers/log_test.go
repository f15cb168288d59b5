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

package controllers_test

import (
	"regexp"
	"testing"

	"github.com/go-logr/logr/funcr"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestLogHasAMachinesLife: the manager's log, with the standard keys, has all that was done
// to a machine's container, and nothing while nothing happens.
func TestLogHasAMachinesLife(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.SettleCluster()
	reference := func(name string) string { return `\{"name"="` + name + `" "namespace"="` + builders.Namespace + `"\}` }
	life := regexp.MustCompile(`"ContainerMachine"=` + reference(builders.Machine) + ` "Cluster"=` + reference(builders.Cluster) +
		` "method"="(\w+)" "container"="[\w-]+"`)
	var calls []string
	logger := funcr.New(func(_, args string) {
		match := life.FindStringSubmatch(args)
		if match == nil {
			t.Errorf("not of the machine's container: %s", args)
			return
		}
		calls = append(calls, match[1])
	}, funcr.Options{})
	eng := must.Get(metered.New(w.Engine, prometheus.NewRegistry(), metered.Options{}))(t)
	w.Engines.Own().Engine = eng
	// As controller-runtime does it.
	ctx := ctrl.LoggerInto(t.Context(), logger.WithValues("ContainerMachine", klog.KRef(builders.Namespace, builders.Machine)))
	reconcile := func() {
		t.Helper()
		for range 5 {
			_, err := w.Machine.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: builders.Namespace, Name: builders.Machine}})
			t.Log(err) // a write may conflict with what happens
		}
	}
	created := []string{"CreateContainer", "Upload", "StartContainer"}
	for _, step := range []struct {
		name   string
		change func()
		want   []string
	}{
		{"Created", func() {}, created},
		{"Idle", func() {}, nil},
		{
			"Killed during its bootstrap", func() { must.Succeed(t, w.Engine.KillContainer(builders.Container(builders.Machine), 137, false)) },
			append([]string{"StartContainer", "RemoveContainer"}, created...),
		},
		{"Deleted", func() {
			world.Delete(w, builders.Machine, &clusterv1.Machine{})
			world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
		}, []string{"RemoveContainer"}},
	} {
		calls = nil
		step.change()
		reconcile()
		if diff := gocmp.Diff(step.want, calls); diff != "" {
			t.Errorf("%s (-want, +got):\n%s", step.name, diff)
		}
	}
}
