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

package conversion

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	utilconversion "sigs.k8s.io/cluster-api/util/conversion"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// rounds each way for each kind.
const rounds = 300

// TestRoundTripsLoseNothing converts random objects of each kind to the other version and
// back, beginning with either.
func TestRoundTripsLoseNothing(t *testing.T) {
	t.Parallel()
	roundTrip(t, "ContainerCluster", ContainerCluster())
	roundTrip(t, "ContainerClusterTemplate", ContainerClusterTemplate())
	roundTrip(t, "ContainerMachine", ContainerMachine())
	roundTrip(t, "ContainerMachineTemplate", ContainerMachineTemplate())
	roundTrip(t, "ContainerMachinePool", ContainerMachinePool())
	roundTrip(t, "ContainerMachinePoolTemplate", ContainerMachinePoolTemplate())
}

func roundTrip[H, S client.Object](t *testing.T, name string, k Kind[H, S]) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		must.Get(k.Converter(scheme(t)))(t)
		random := utilconversion.GetFuzzer(scheme(t), onTheWire)
		for range rounds {
			hub, spoke, hubAgain, spokeAgain := empty(k.hub), empty(k.spoke), empty(k.hub), empty(k.spoke)
			random.Fill(spoke)
			must.Succeed(t, k.toHub(t.Context(), spoke, hub))
			must.Succeed(t, k.toSpoke(t.Context(), hub, spokeAgain))
			delete(spokeAgain.GetAnnotations(), utilconversion.DataAnnotation)
			if !equality.Semantic.DeepEqual(spoke, spokeAgain) {
				t.Fatalf("the old version, converted to the new one and back (-before +after):\n%s", cmp.Diff(spoke, spokeAgain, cmpopts.EquateEmpty()))
			}

			hub, spoke = empty(k.hub), empty(k.spoke)
			random.Fill(hub)
			must.Succeed(t, k.toSpoke(t.Context(), hub, spoke))
			must.Succeed(t, k.toHub(t.Context(), spoke, hubAgain))
			if !equality.Semantic.DeepEqual(hub, hubAgain) {
				t.Fatalf("the new version, converted to the old one and back (-before +after); a field that the old one lacks is restored in kinds.go:\n%s",
					cmp.Diff(hub, hubAgain, cmpopts.EquateEmpty()))
			}
		}
	})
}

func empty[T client.Object](of T) T {
	made, _ := of.DeepCopyObject().(T)
	return made
}

// onTheWire has what JSON can express: no pointers to the zero time.
func onTheWire(runtimeserializer.CodecFactory) []any {
	return []any{
		func(at **metav1.Time, c randfill.Continue) {
			if c.Bool() {
				*at = &metav1.Time{Time: time.Unix(1+c.Int63n(1<<32), 0)}
			}
		},
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	must.Succeed(t, infrav1.AddToScheme(scheme))
	must.Succeed(t, infrav1alpha1.AddToScheme(scheme))
	return scheme
}
