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

package extension_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// The specification takes precedence over what a user has edited, until the update has ended.
func TestUpdateMachineAndAnEdit(t *testing.T) {
	t.Parallel()
	const path, edited = "/etc/containerd/conf.d/a.toml", "a user's"
	files := simulatednode.NewFiles(map[string]string{path: edited})
	w := updating(t, files)
	server := serve(t, w)
	update := func(when string) {
		t.Helper()
		if response := ask(t, w, server); response.RetryAfterSeconds == 0 {
			t.Errorf("%s: the update is done although a file differs", when)
		}
		w.SettleMachine(builders.Machine)
		if response := ask(t, w, server); response.RetryAfterSeconds != 0 || files.Contents()[path] != "new\n" {
			t.Errorf("%s: the file is %q, and the response %+v", when, files.Contents()[path], response)
		}
	}
	update("edited before")
	files.Put(path, edited)
	update("edited meanwhile")

	world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
		delete(m.Annotations, clusterv1.UpdateInProgressAnnotation)
	})
	w.SettleMachine(builders.Machine)
	files.Put(path, edited)
	w.SettleMachine(builders.Machine)
	if got := files.Contents()[path]; got != edited {
		t.Errorf("the file is %q after the update, want what the user wrote", got)
	}
}

// A limit that the host does not have is not reported as applied, also if the host became smaller after the extension accepted it.
func TestUpdateMachineAboveTheHost(t *testing.T) {
	t.Parallel()
	w := updating(t, simulatednode.NewFiles(nil))
	server := serve(t, w)
	world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
		m.Spec.Resources.Memory = ptr.To(resource.MustParse("1000Gi"))
	})
	ask(t, w, server)
	w.SettleMachine(builders.Machine)
	for range 2 {
		response := ask(t, w, server)
		if response.Status != runtimehooksv1.ResponseStatusSuccess || response.RetryAfterSeconds == 0 || !strings.Contains(response.Message, "memory") {
			t.Errorf("unexpected response %+v", response)
		}
	}
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, message := world.State(object, infrav1.ResourcesConfiguredCondition); state != "False/"+infrav1.ResourcesUnavailableReason {
		t.Errorf("condition: %s %s", state, message)
	}
}

// Machines of a ContainerEngine are replaced. One that is marked nevertheless says what to do, and its node is not touched.
func TestContainerEngine(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(func(o *builders.Objects) {
		o.ContainerCluster.Spec.EngineName = "build"
		metav1.SetMetaDataAnnotation(&o.ContainerMachine.ObjectMeta, infrav1.EngineNameAnnotation, "build")
	}))
	server := serve(t, w)
	const refusal = "nodes on a ContainerEngine, here build, are not updated in place"
	file := bootstrapv1.File{Path: "/tmp/test", Content: "first"}
	of, infrastructure := builders.MachinePair(builders.Machine)

	request, response := &runtimehooksv1.CanUpdateMachineRequest{}, &runtimehooksv1.CanUpdateMachineResponse{}
	request.Current.Machine = *of
	request.Current.InfrastructureMachine, request.Desired.InfrastructureMachine = raw(t, machine("1", "1Gi")), raw(t, machine("2", "2Gi"))
	request.Current.BootstrapConfig, request.Desired.BootstrapConfig = raw(t, kubeadmConfig()), raw(t, kubeadmConfig(file))
	call(t, server, "canupdatemachine/can-update-machine", request, response)
	if response.InfrastructureMachinePatch.IsDefined() || response.BootstrapConfigPatch.IsDefined() || response.Message != refusal || response.Status != runtimehooksv1.ResponseStatusSuccess {
		t.Errorf("a Machine: unexpected response %+v", response)
	}

	set, answer := &runtimehooksv1.CanUpdateMachineSetRequest{}, &runtimehooksv1.CanUpdateMachineSetResponse{}
	set.Current.MachineSet.Namespace, set.Current.MachineSet.Spec.ClusterName = of.Namespace, of.Spec.ClusterName
	set.Current.InfrastructureMachineTemplate, set.Desired.InfrastructureMachineTemplate = template(t, machine("1", "1Gi")), template(t, machine("2", "2Gi"))
	set.Current.BootstrapConfigTemplate, set.Desired.BootstrapConfigTemplate = template(t, kubeadmConfig()), template(t, kubeadmConfig(file))
	call(t, server, "canupdatemachineset/can-update-machine-set", set, answer)
	if answer.InfrastructureMachineTemplatePatch.IsDefined() || answer.BootstrapConfigTemplatePatch.IsDefined() || answer.Message != refusal {
		t.Errorf("a MachineSet: unexpected response %+v", answer)
	}

	update, updated := &runtimehooksv1.UpdateMachineRequest{}, &runtimehooksv1.UpdateMachineResponse{}
	update.Desired.Machine, update.Desired.InfrastructureMachine = *of, raw(t, infrastructure)
	call(t, server, "updatemachine/update-machine", update, updated)
	if !strings.HasPrefix(updated.Message, refusal+": delete Machine "+builders.Machine) || updated.RetryAfterSeconds == 0 {
		t.Errorf("an update: unexpected response %+v", updated)
	}
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if _, isRequested := object.Annotations[infrav1.UpdateRequestedAnnotation]; isRequested {
		t.Error("the controller is asked for the update")
	}
}
