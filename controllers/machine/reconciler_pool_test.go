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

package machine_test

import (
	"testing"

	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// pooled tests machines in a pool, whose Machines have neither
// version nor data secret nor failure domain: the ContainerMachine does.
func pooled() map[string]reconcileTest {
	ofPool := func(annotations map[string]string) builders.Option {
		return func(o *builders.Objects) {
			o.Machine.Spec.Version, o.Machine.Spec.FailureDomain = "", ""
			o.Machine.Spec.Bootstrap.DataSecretName = ptr.To("")
			o.Machine.Labels[clusterv1.MachinePoolNameLabel] = builders.Pool
			o.ContainerMachine.Annotations = annotations
		}
	}
	record := map[string]string{
		infrav1.VersionAnnotation: "v1.36.3", infrav1.BootstrapDataSecretAnnotation: "m1-data", infrav1.FailureDomainAnnotation: "zone-b",
	}
	return map[string]reconcileTest{
		"OfPool": {
			reason: "The container is made with what the annotations say.",
			args:   args{options: []builders.Option{ofPool(record)}},
			want:   want{containerReady: "True/" + infrav1.ContainerRunningReason, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: atARecord, containers: 1, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
				if object.Status.FailureDomain != "zone-b" {
					t.Errorf("it is in the failure domain %q", object.Status.FailureDomain)
				}
			},
		},
		"OfPoolWithoutData": {
			reason: "The empty name that the Machines of a pool have is not the name of a Secret.",
			args:   args{options: []builders.Option{ofPool(nil)}},
			want:   want{containerReady: "False/" + infrav1.WaitingForBootstrapDataReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "bootstrap provider"},
		},
		"OfPoolVersionUnsupported": {
			reason: "The image is chosen by the pool's version.",
			args: args{
				options: []builders.Option{
					ofPool(map[string]string{infrav1.VersionAnnotation: "v1.28.0", infrav1.BootstrapDataSecretAnnotation: "m1-data"}),
					func(o *builders.Objects) { o.ContainerMachine.Spec.Image = "" },
				},
			},
			want: want{containerReady: "False/" + infrav1.VersionUnsupportedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "v1.28"},
		},
		"MachineSaysMore": {
			reason: "What a Machine says itself counts more than an annotation.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.ContainerMachine.Annotations = map[string]string{infrav1.BootstrapDataSecretAnnotation: "none", infrav1.FailureDomainAnnotation: "zone-b"}
				}},
			},
			want: want{containerReady: "True/" + infrav1.ContainerRunningReason, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: atARecord, containers: 1, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
				if object.Status.FailureDomain != "zone-a" {
					t.Errorf("it is in the failure domain %q", object.Status.FailureDomain)
				}
			},
		},
	}
}
