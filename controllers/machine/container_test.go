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
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestEndIsReported: that a node ended is seen of Ready even where the same
// reconcile starts it again, or where the engine was quicker.
func TestEndIsReported(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(t *testing.T, w *world.World)
		// reported by the first reconcile, with the text in its message.
		reported, message string
	}{
		"Killed": {
			reason: "One that stays down is started by the reconcile that reports it.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.KillContainer(container(), 137, false))
			},
			reported: "False/" + infrav1.ContainerExitedReason, message: "exited with code 137 (SIGKILL: a user, the engine or the kernel ended its processes) and has been started again",
		},
		"OutOfMemory": {
			reason: "A kill by the OOM killer is reported.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.KillContainer(container(), 137, true))
			},
			reported: "False/" + infrav1.ContainerExitedReason, message: "(OOMKilled)",
		},
		"RestartedByTheEngine": {
			reason: "The engine's restart policy is quicker than a reconcile; its event reports the exit.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				found := must.Get(w.Engine.InspectContainer(t.Context(), container()))(t)
				w.Exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: found.ID, ExitCode: 143})
			},
			reported: "False/" + infrav1.ContainerRestartedReason, message: "exited with code 143 and was restarted",
		},
		"CrashLoop": {
			reason:   "Restarts do not help: one reason for it, whether the container runs at the moment or not.",
			change:   exitFiveTimes,
			reported: "False/" + infrav1.ContainerCrashLoopReason, message: "exited with code 1, again after each restart",
		},
		"RestartedLater": {
			reason: "The time for which an exit is reported begins when the container runs again, not at a reconcile before.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				found, err := w.Engine.InspectContainer(t.Context(), container())
				must.Succeed(t, err)
				w.Exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: found.ID, ExitCode: 143})
				must.Succeed(t, w.Engine.Pause(container()))
				_, err = w.ReconcileMachine(builders.Machine)
				must.Succeed(t, err)
				w.Clock.SetTime(w.Clock.Now().Add(5 * time.Second))
				must.Succeed(t, w.Engine.Unpause(container()))
			},
			reported: "False/" + infrav1.ContainerRestartedReason, message: "exited with code 143 and was restarted",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New())
			w.SettleMachine(builders.Machine)
			all(record("done"), becomesNode)(t, w)
			w.SettleMachine(builders.Machine)
			c.change(t, w)
			result, err := w.ReconcileMachine(builders.Machine)
			if err != nil || result.RequeueAfter == 0 {
				t.Errorf("%s\ngot %v, %v, want another look", c.reason, result, err)
			}
			object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			if state, message := world.State(object, infrav1.MachineReadyCondition); state != c.reported || !strings.Contains(message, c.message) {
				t.Errorf("%s\nReady is %s (%s), want %s (%s)", c.reason, state, message, c.reported, c.message)
			}
			w.Clock.SetTime(w.Clock.Now().Add(result.RequeueAfter))
			w.SettleMachine(builders.Machine)
			object, _ = world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			if state, message := world.State(object, infrav1.MachineReadyCondition); !strings.HasPrefix(state, "True/") {
				t.Errorf("%s\nReady is %s (%s) in the end", c.reason, state, message)
			}
		})
	}
}

// TestCrashLoopHasOneMessage: a container that exits again after each restart is found running
// or exited, and a message that changed each time would be an Event and a line each time.
func TestCrashLoopHasOneMessage(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.SettleMachine(builders.Machine)
	all(record("done"), becomesNode)(t, w)
	w.SettleMachine(builders.Machine)
	exitFiveTimes(t, w)
	var messages []string
	for range 2 {
		must.Get(w.ReconcileMachine(builders.Machine))(t)
		object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
		state, message := world.State(object, infrav1.MachineReadyCondition)
		messages = append(messages, state+": "+message)
		must.Succeed(t, w.Engine.KillContainer(container(), 1, false))
	}
	if diff := cmp.Diff(messages[0], messages[1]); diff != "" || !strings.Contains(messages[0], infrav1.ContainerCrashLoopReason) {
		t.Errorf("while it runs and after it exited (-running +exited):\n%s%s", diff, messages[0])
	}
}

func exitFiveTimes(t *testing.T, w *world.World) {
	t.Helper()
	found := must.Get(w.Engine.InspectContainer(t.Context(), container()))(t)
	for range 5 {
		w.Clock.SetTime(w.Clock.Now().Add(time.Second))
		w.Exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: found.ID, ExitCode: 1, Time: w.Clock.Now()})
	}
}

// fullNetwork makes the network "small", whose static addresses are taken.
func fullNetwork(t *testing.T, w *world.World) {
	t.Helper()
	must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "small", Subnets: prefixes("10.9.0.0/29")}))(t)
	for i := range 8 {
		name := fmt.Sprintf("filler-%d", i)
		spec := engine.Spec{
			Name: name, Image: builders.NodeImage, Attachment: engine.Attachment{Network: "small", Addresses: addresses(fmt.Sprintf("10.9.0.%d", i))},
			Labels: map[string]string{labelNetwork: "small", labelAddress: fmt.Sprintf("10.9.0.%d", i)},
		}
		if _, err := w.Engine.CreateContainer(t.Context(), spec); err != nil && !strings.Contains(err.Error(), "in use") {
			t.Fatal(err)
		}
	}
}

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

// TestSpecReachesContainer removes one field of a machine's spec after the other. Unless
// the field is mutable, the container is another one: no field is added to the API and
// then forgotten on the way to the engine.
func TestSpecReachesContainer(t *testing.T) {
	t.Parallel()
	full := infrav1.ContainerMachineCommonSpec{
		Image:       builders.NodeImage,
		ExtraMounts: []infrav1.Mount{{ContainerPath: "/data", HostPath: "/srv", ReadOnly: ptr.To(true), Propagation: infrav1.MountPropagationHostToContainer}},
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
		DNSSearch:        []string{"corp.example.com"},
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
