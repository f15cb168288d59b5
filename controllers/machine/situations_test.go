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
	"cmp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// situation is something a machine can get into, and what then has to be so.
type situation struct {
	reason  string
	options []builders.Option
	// happens after the controller first came to rest; a situation that the
	// world begins with has none.
	happens func(t *testing.T, w *world.World)
	// begins before the controller first looks.
	begins func(t *testing.T, w *world.World)

	// want is what the conditions say, as Status/Reason; message is in the
	// message of Ready.
	container, bootstrap, ready string
	message                     string
	// again is when the controller wants to look again; 0 = never.
	again time.Duration
	// fails says that the reconcile ends with an error.
	fails bool
	// containers of the machine on the engine at the end.
	containers int
	// provisioned says that Cluster API was told of the machine.
	provisioned bool
	// attempt is the container's; 0 means 1.
	attempt string
	// check of a lost status.
	check world.Check
	// holds are further checks.
	holds func(t *testing.T, w *world.World)
}

func TestSituations(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]situation{
		waiting(), badInput(), running(), ended(), disturbed(), engineTrouble(), interrupted(), adopted(), named(), pooled(),
	} {
		for name, s := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	}
}

func (s situation) run(t *testing.T) {
	t.Helper()
	w := world.New(t, builders.New(s.options...))
	if s.begins != nil {
		s.begins(t, w)
	}
	outcome := w.SettleMachine(builders.Machine)
	if s.happens != nil {
		s.happens(t, w)
		outcome = w.SettleMachine(builders.Machine)
	}
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	container, _ := world.State(object, infrav1.ContainerReadyCondition)
	bootstrapped, _ := world.State(object, infrav1.BootstrapCompletedCondition)
	ready, message := world.State(object, infrav1.MachineReadyCondition)
	got := []string{container, bootstrapped, ready}
	want := []string{s.container, s.bootstrap, cmp.Or(s.ready, first(s.container, s.bootstrap))}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s\nContainerReady, BootstrapCompleted, Ready (-want +got):\n%s\nmessage: %s\nerror: %v", s.reason, diff, message, outcome.Err)
	}
	if !strings.Contains(message, s.message) {
		t.Errorf("%s\nmessage %q lacks %q", s.reason, message, s.message)
	}
	if wrong := outcome.Result.RequeueAfter != s.again; wrong && (s.again != atLeisure || outcome.Result.RequeueAfter == 0) || (outcome.Err != nil) != s.fails {
		t.Errorf("%s\ngot %v and error %v, want again after %s and error %t", s.reason, outcome.Result, outcome.Err, s.again, s.fails)
	}
	if told := object.Status.Initialization.Provisioned != nil && object.Spec.ProviderID != ""; told != s.provisioned {
		t.Errorf("%s\nprovisioned is %t, want %t", s.reason, told, s.provisioned)
	}
	s.checkEngine(t, w)
	w.CheckMachine(builders.Machine, s.check)
	if s.holds != nil {
		s.holds(t, w)
	}
}

func (s situation) checkEngine(t *testing.T, w *world.World) {
	t.Helper()
	ours := containers(t, w)
	if len(ours) != s.containers {
		t.Errorf("%s\nthe machine has %d containers, want %d", s.reason, len(ours), s.containers)
	}
	for _, container := range ours {
		if got, want := container.Labels[identity.LabelAttempt], cmp.Or(s.attempt, "1"); got != want {
			t.Errorf("%s\ncontainer %s is of attempt %q, want %q", s.reason, container.Name, got, want)
		}
	}
	if s.containers == 0 && len(w.Engine.VolumeNames()) > 0 {
		t.Errorf("%s\nvolumes are left: %v", s.reason, w.Engine.VolumeNames())
	}
}

// first is what Ready repeats: the first condition that is not True.
func first(states ...string) string {
	for _, state := range states {
		switch {
		case state == "absent":
			return "Unknown/NotYetReported"
		case !strings.HasPrefix(state, "True/"):
			return state
		}
	}
	return "True/Ready"
}

// containers of the machine.
func containers(t *testing.T, w *world.World) []engine.Container {
	t.Helper()
	found, err := w.Engine.ListContainers(t.Context(), map[string]string{
		identity.LabelOwnerID: builders.OwnerID, identity.LabelMachine: builders.Machine,
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func container() string { return builders.Container(builders.Machine) }

// record makes the node say how its bootstrap stands: state, then pairs of
// file and content.
func record(files ...string) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		content := map[string]string{"": files[0]}
		for i := 1; i+1 < len(files); i += 2 {
			content[files[i]] = files[i+1]
		}
		if err := simulatednode.Record(w.Engine, container(), content); err != nil {
			t.Fatal(err)
		}
	}
}

// all does one thing after another, with the controller looking in between.
func all(steps ...func(*testing.T, *world.World)) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		for i, step := range steps {
			if i > 0 {
				w.SettleMachine(builders.Machine)
			}
			step(t, w)
		}
	}
}

// must fails the test where something done to the world did not work.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// annotate returns an option that annotates the ContainerMachine.
func annotate(key, value string) builders.Option {
	return func(o *builders.Objects) {
		metav1.SetMetaDataAnnotation(&o.ContainerMachine.ObjectMeta, key, value)
	}
}

// waitFor polls until something is so that happens in the background.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it does not happen within ten seconds")
		}
	}
}
