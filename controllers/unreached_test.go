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
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestDeletionWithoutEngine: a cluster whose ContainerEngine was never found, as of a name with a typing error, has nothing
// to be removed. What may have something waits.
func TestDeletionWithoutEngine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		set    func(*builders.Objects)
		stays  bool
	}{
		"NotFound": {"Nothing was created.", func(*builders.Objects) {}, false},
		"Recorded": {"It was created on an engine whose object was deleted by force.", func(o *builders.Objects) {
			metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, infrav1.EngineAnnotation, "storage")
		}, true},
		"Exists": {"The engine may be reached, and its identity was not written.", func(o *builders.Objects) {
			o.Others = append(o.Others, &infrav1.ContainerEngine{ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: hostName}})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &lostWorld{World: world.New(t, builders.New(func(o *builders.Objects) {
				o.ContainerCluster.Spec.EngineName, o.Machine.Spec.FailureDomain = hostName, ""
				tc.set(o)
			}))}
			registry := engines.New(engines.Own(simulated.New()), engines.Options{})
			w.Engines, w.Cluster.Engines, w.Machine.Engines = registry, registry, registry
			look := func() {
				for range 3 {
					_, _ = w.ReconcileMachine(builders.Machine)
					_, _ = w.ReconcileCluster()
				}
			}
			look()
			w.deleteAll()
			look()
			if machine, cluster := w.exist(); machine != tc.stays || cluster != tc.stays {
				t.Errorf("%s The machine stays: %t, the cluster: %t", tc.reason, machine, cluster)
			}
		})
	}
}
