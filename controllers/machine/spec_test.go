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
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestSpecReachesContainer removes one field of a machine's spec after the other. Unless
// the field is mutable, the container is another one: no field is added to the API and
// then forgotten on the way to the engine.
func TestSpecReachesContainer(t *testing.T) {
	t.Parallel()
	full := infrav1.ContainerMachineCommonSpec{
		Image:       builders.NodeImage,
		ExtraMounts: []infrav1.Mount{{ContainerPath: "/data", HostPath: "/srv", ReadOnly: ptr.To(true)}},
		Resources: infrav1.MachineResources{
			CPU: ptr.To(resource.MustParse("1500m")), Memory: ptr.To(resource.MustParse("2Gi")), Pids: 2000,
		},
		PortMappings: []infrav1.PortMapping{{
			ContainerPort: 30080, HostPort: 8080, Address: "0.0.0.0", Protocol: infrav1.PortProtocolUDP,
		}},
		Environment: []infrav1.EnvironmentVariable{{Name: "KEY", Value: "value"}},
		Labels:      map[string]string{"example.com/team": "a"},
		Devices: []infrav1.Device{
			{Path: "/dev/fuse", ContainerPath: "/dev/other"}, {Name: "vendor.com/class=name"},
		},
		BootstrapTimeout: &metav1.Duration{Duration: time.Hour},
	}
	whole := created(t, full)
	for path, at := range map[string]func(*infrav1.ContainerMachineCommonSpec) reflect.Value{
		"spec": func(s *infrav1.ContainerMachineCommonSpec) reflect.Value { return reflect.ValueOf(s).Elem() },
		"spec.resources": func(s *infrav1.ContainerMachineCommonSpec) reflect.Value {
			return reflect.ValueOf(&s.Resources).Elem()
		},
		"spec.portMappings[0]": func(s *infrav1.ContainerMachineCommonSpec) reflect.Value {
			return reflect.ValueOf(&s.PortMappings[0]).Elem()
		},
		"spec.environment[0]": func(s *infrav1.ContainerMachineCommonSpec) reflect.Value {
			return reflect.ValueOf(&s.Environment[0]).Elem()
		},
		"spec.extraMounts[0]": func(s *infrav1.ContainerMachineCommonSpec) reflect.Value {
			return reflect.ValueOf(&s.ExtraMounts[0]).Elem()
		},
	} {
		for _, field := range reflect.VisibleFields(at(&full).Type()) {
			t.Run(path+"."+field.Name, func(t *testing.T) {
				t.Parallel()
				without := full.DeepCopy()
				value := at(without).FieldByIndex(field.Index)
				if value.IsZero() {
					t.Fatal("the field has no value; add one to full")
				}
				value.SetZero()
				mutable := cmp.Equal(full.Immutable(), without.Immutable())
				if same := cmp.Equal(whole, created(t, *without), cmpopts.EquateComparable(netip.Addr{})); same != mutable {
					t.Errorf("without the field, the container is the same: %t; the field is mutable: %t; "+
						"a field either gets into node.Spec, or is copied by SetMutable", same, mutable)
				}
			})
		}
	}
}

// created is what the container of a machine with the spec is created from, or nothing
// if the machine gets none.
func created(t *testing.T, spec infrav1.ContainerMachineCommonSpec) engine.Spec {
	t.Helper()
	w := world.New(t, builders.New(func(o *builders.Objects) { o.ContainerMachine.Spec.ContainerMachineCommonSpec = spec }))
	byDefault := must.Get(node.Image("v1.36.3"))(t)
	w.Engine.AddImage(engine.Image{Tags: []string{byDefault}}, nil)
	w.Engine.AddCDIDevice("vendor.com/class=name")
	w.SettleMachine(builders.Machine)
	container, _ := w.Engine.Spec(builders.Container(builders.Machine))
	return container
}
