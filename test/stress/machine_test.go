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

package stress_test

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/controllers/machine"
	nodes "github.com/capi-samples/cluster-api-provider-container/controllers/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const (
	// nodeImage is what "make images-load" gives an engine.
	nodeImage = "localhost/capcon/node:" + node.DefaultVersion
	// patience with an engine, which may be as slow as its limits allow.
	patience = 15 * time.Minute
	// failurePause is the pause after a reconcile that failed.
	failurePause = 100 * time.Millisecond
	// bootstrapData ends immediately.
	bootstrapData = "#cloud-config\nruncmd:\n- 'true'\n"
)

// subject is a ContainerMachine in an API server in memory, on a real engine.
type subject struct {
	t   *testing.T
	api client.WithWatch
	// engine is the undisturbed one, disturbed the one that the controller has.
	engine, disturbed engine.Engine
	host              *hostinfo.Observer
	events            *world.Recorder
	owner             identity.Owner
	controller        *machine.Reconciler
}

// newSubject returns a worker whose bootstrap data is there, on a network of its own.
func newSubject(t *testing.T, eng, disturbed engine.Engine, image string) *subject {
	t.Helper()
	owner := builders.Owner()
	owner.ID = identity.NewOwnerID()
	networkName := "capcon-stress-" + owner.ID
	s := &subject{
		t: t, engine: eng, disturbed: disturbed, owner: owner, events: &world.Recorder{},
		api: world.APIServer(builders.Scheme(t), builders.New(func(o *builders.Objects) {
			o.ContainerCluster.Spec.OwnerID, o.ContainerCluster.Spec.Network.Name = owner.ID, networkName
			o.ContainerCluster.Spec.LoadBalancer.Type = infrav1.LoadBalancerNone
			o.ContainerMachine.Spec.Image = image
			o.Secret.Data["value"] = []byte(bootstrapData)
		}).All()),
		// What it finds out is the same for a slow engine.
		host: hostinfo.NewObserver(eng),
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		for _, container := range s.containers() {
			if err := eng.RemoveContainer(ctx, container.ID); err != nil {
				t.Error(err)
			}
		}
		if gone, err := network.Remove(ctx, eng, networkName); err != nil || !gone {
			t.Errorf("remove network: gone %t, %v", gone, err)
		}
	})
	if _, err := network.Ensure(t.Context(), eng, network.Request{Name: networkName}); err != nil {
		t.Fatal(err)
	}
	s.restart(imagepull.NewTracker(disturbed))
	return s
}

// restart replaces the controller by one without state.
func (s *subject) restart(images *imagepull.Tracker) {
	cache := clustercache.NewFakeEmptyClusterCache()
	s.controller = &machine.Reconciler{
		Client: s.api, Live: s.api, Engine: s.disturbed, Images: images, Host: s.host, Events: events.EventRecorder(s.events),
		Nodes: &nodes.Reconciler{Client: s.api, Engine: s.disturbed, Events: s.events, ClusterCache: cache},
		Exits: engineevents.NewExits(clock.RealClock{}), ClusterCache: cache, Clock: clock.RealClock{},
	}
}

func (s *subject) reconcile(ctx context.Context) (ctrl.Result, error) {
	return s.controller.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: builders.Namespace, Name: builders.Machine}})
}

// state of a condition as "Status/Reason: message".
func (s *subject) state(condition string) string {
	s.t.Helper()
	object := &infrav1.ContainerMachine{}
	if err := s.api.Get(s.t.Context(), client.ObjectKey{Namespace: builders.Namespace, Name: builders.Machine}, object); err != nil {
		s.t.Fatal(err)
	}
	state, message := world.State(object, condition)
	return state + ": " + message
}

// await reconciles, as a manager would, until the condition is as wanted.
func (s *subject) await(condition, want string) {
	s.t.Helper()
	s.awaitState(condition, want, func(state string) bool { return strings.HasPrefix(state, want) })
}

// awaitMessage reconciles until the condition says so.
func (s *subject) awaitMessage(condition, want string) {
	s.t.Helper()
	s.awaitState(condition, want, func(state string) bool { return strings.Contains(state, want) })
}

func (s *subject) awaitState(condition, want string, isWanted func(state string) bool) {
	s.t.Helper()
	seen := []string{}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		result, err := s.reconcile(s.t.Context())
		state := s.state(condition)
		if isWanted(state) {
			return
		}
		if text := fmt.Sprintf("%s (%v)", state, err); len(seen) == 0 || seen[len(seen)-1] != text {
			seen = append(seen, text)
		}
		select {
		case <-time.After(cmp.Or(result.RequeueAfter, failurePause)):
		case <-s.t.Context().Done():
		}
	}
	s.t.Fatalf("condition %s is not %q within %s, but in turn:\n%s", condition, want, patience, strings.Join(seen, "\n"))
}

// awaitReady reconciles until the node has bootstrapped, and sees that all is well.
func (s *subject) awaitReady() {
	s.t.Helper()
	s.await(infrav1.BootstrapCompletedCondition, "True/")
	if state := s.state(infrav1.ContainerReadyCondition); !strings.HasPrefix(state, "True/") {
		s.t.Errorf("condition %s is %q, want True", infrav1.ContainerReadyCondition, state)
	}
	if found := s.containers(); len(found) != 1 || found[0].Status != engine.StatusRunning {
		s.t.Errorf("containers %+v, want one that runs", found)
	}
}

// removeImage that a test made: the seam has no such call.
func removeImage(t *testing.T, engineName, reference string) {
	t.Helper()
	command := map[string][]string{"docker": {"docker"}, "podman": {"podman", "--remote"}}[engineName]
	command = append(command, "image", "rm", "--force", reference)
	output, err := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Errorf("remove image: %v: %s", err, output)
	}
}

// containers of the machine, running or not.
func (s *subject) containers() []engine.Container {
	s.t.Helper()
	containers, err := s.engine.ListContainers(context.WithoutCancel(s.t.Context()), s.owner.Labels())
	if err != nil {
		s.t.Fatal(err)
	}
	return containers
}
