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

package contract_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationWatchFilter runs the controllers for objects of one label, as
// one of several instances of the provider does. Each kind is there twice:
// first without the label and then with it, so that where the second was
// looked at, the first would have been.
func TestIntegrationWatchFilter(t *testing.T) {
	t.Parallel()
	config := env.Start(t)
	api := must.Get(client.New(config, client.Options{Scheme: builders.Scheme(t)}))(t)
	mgr := must.Get(ctrl.NewManager(config, ctrl.Options{
		Scheme: api.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
	}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	must.Succeed(t, controllers.Setup(ctx, mgr, controllers.Options{
		Engine: simulated.New(), ClusterCache: clustercache.NewFakeEmptyClusterCache(), WatchFilterValue: "ours",
	}))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		must.Succeed(t, <-ended)
	})
	theirs := oneOfEach(t, api, "theirs")
	// That wakes the controller of whatever is the Cluster's.
	cluster := &clusterv1.Cluster{}
	must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(theirs[0]), cluster))
	cluster.Spec.ClusterNetwork.APIServerPort = 7443
	must.Succeed(t, api.Update(t.Context(), cluster))
	ours := oneOfEach(t, api, "ours")
	for i := range ours {
		awaitFinalizer(t, api, ours[i])
	}
	for i := range theirs {
		isLeftAlone(t, api, theirs[i])
	}
}

// oneOfEach makes a cluster with a machine and a pool, labeled as being for
// this value and named after it.
func oneOfEach(t *testing.T, api client.Client, filter string) []client.Object {
	t.Helper()
	begin := builders.New(builders.MachinePool(0))
	machine, containerMachine := builders.MachinePair(filter + "-machine")
	owners := map[string]client.Object{"Cluster": begin.Cluster, "Machine": machine}
	made := []client.Object{begin.ContainerCluster, containerMachine}
	for _, object := range begin.Others {
		switch object := object.(type) {
		case *clusterv1.MachinePool:
			owners["MachinePool"] = object
			object.Spec.ClusterName, object.Spec.Template.Spec.ClusterName = filter, filter
		case *infrav1.ContainerMachinePool:
			made = append(made, object)
		}
	}
	begin.Cluster.Spec.InfrastructureRef.Name = filter
	machine.Spec.ClusterName = filter
	create := func(object client.Object) {
		object.SetName(filter)
		object.SetUID("")
		object.SetFinalizers(nil)
		object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: filter, clusterv1.WatchLabel: filter})
		must.Succeed(t, api.Create(t.Context(), object))
	}
	for _, kind := range []string{"Cluster", "Machine", "MachinePool"} {
		create(owners[kind])
	}
	for _, object := range made {
		references := object.GetOwnerReferences()
		owner := owners[references[0].Kind]
		references[0].Name, references[0].UID = owner.GetName(), owner.GetUID()
		object.SetOwnerReferences(references)
		create(object)
	}
	return made
}

// awaitFinalizer waits until the object is reconciled.
func awaitFinalizer(t *testing.T, api client.Client, object client.Object) {
	t.Helper()
	must.Eventually(t, 3*time.Minute, fmt.Sprintf("%T %s has a finalizer", object, object.GetName()), func(ctx context.Context) error {
		err := api.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil && len(object.GetFinalizers()) == 0 {
			err = errors.New("it has none")
		}
		return err
	})
}

// isLeftAlone checks that it was not.
func isLeftAlone(t *testing.T, api client.Client, object client.Object) {
	t.Helper()
	must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	observed, ok := object.(conditions.Getter)
	if !ok || len(object.GetFinalizers())+len(observed.GetConditions()) > 0 {
		t.Errorf("%T %s is looked at: %+v", object, object.GetName(), object)
	}
}
