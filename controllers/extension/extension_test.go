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
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/extension"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// hookPath of a handler.
const hookPath = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/"

// serve the extension of a world.
func serve(t *testing.T, w *world.World) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	host := webhook.NewServer(webhook.Options{WebhookMux: mux})
	served := must.Get(extension.NewServer(host, &extension.Handlers{Client: w.Client, Engine: w.Engine, Host: w.Engine}))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- served.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		must.Succeed(t, <-ended)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	must.Eventually(t, 30*time.Second, "the handlers are served", func(ctx context.Context) error {
		post := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, server.URL+hookPath+"updatemachine/update-machine", strings.NewReader("{}")))(t)
		response, err := server.Client().Do(post)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			err = errors.New(response.Status)
		}
		return errors.Join(err, response.Body.Close())
	})
	return server
}

func call(t *testing.T, server *httptest.Server, path string, request, response any) {
	t.Helper()
	body := must.Get(json.Marshal(request))(t)
	post := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+hookPath+path, bytes.NewReader(body)))(t)
	answer, err := server.Client().Do(post)
	must.Succeed(t, err)
	defer func() { must.Succeed(t, answer.Body.Close()) }()
	must.Succeed(t, json.NewDecoder(answer.Body).Decode(response))
}

func raw(t *testing.T, object any) runtime.RawExtension {
	t.Helper()
	return runtime.RawExtension{Raw: must.Get(json.Marshal(object))(t)}
}

func machine(cpu, memory string) *infrav1.ContainerMachine {
	_, machine := builders.MachinePair(builders.Machine)
	machine.Spec.Resources = infrav1.MachineResources{CPU: ptr.To(resource.MustParse(cpu)), Memory: ptr.To(resource.MustParse(memory))}
	return machine
}

func kubeadmConfig(files ...bootstrapv1.File) *bootstrapv1.KubeadmConfig {
	return &bootstrapv1.KubeadmConfig{
		TypeMeta:   metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig"},
		ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: builders.Machine},
		Spec:       bootstrapv1.KubeadmConfigSpec{Format: bootstrapv1.CloudConfig, Files: files},
	}
}

// The patches make the current objects the desired ones exactly where the extension carries out all changes.
func TestCanUpdate(t *testing.T) {
	t.Parallel()
	server := serve(t, world.New(t, builders.New()))
	file := bootstrapv1.File{Path: "/tmp/test", Content: "first"}
	image := machine("1", "1Gi")
	image.Spec.Image = "other:v1"
	commands := kubeadmConfig()
	commands.Spec.PreKubeadmCommands = []string{"true"}
	other := machine("1", "1Gi")
	other.Kind = "DevMachine"
	cases := map[string]struct {
		reason           string
		before, after    *infrav1.ContainerMachine
		config, desired  *bootstrapv1.KubeadmConfig
		infra, bootstrap bool
	}{
		"files":    {"Upstream's own test changes them.", machine("1", "1Gi"), machine("1", "1Gi"), kubeadmConfig(), kubeadmConfig(file), true, true},
		"removed":  {"A list can become empty.", machine("1", "1Gi"), machine("1", "1Gi"), kubeadmConfig(file), kubeadmConfig(), true, true},
		"both":     {"Two changes are one update.", machine("1", "1Gi"), machine("2", "2048Mi"), kubeadmConfig(), kubeadmConfig(file), true, true},
		"host":     {"No host has that much.", machine("1", "1Gi"), machine("1", "10000Gi"), kubeadmConfig(), kubeadmConfig(), false, true},
		"smaller":  {"The node may use it.", machine("1", "2Gi"), machine("1", "1Gi"), kubeadmConfig(), kubeadmConfig(), false, true},
		"image":    {"A container keeps its image.", machine("1", "1Gi"), image, kubeadmConfig(), kubeadmConfig(file), false, true},
		"commands": {"They run at the first boot.", machine("1", "1Gi"), machine("2", "2Gi"), kubeadmConfig(), commands, true, false},
		"other":    {"Another provider's machines are not touched.", other, machine("2", "2Gi"), kubeadmConfig(), kubeadmConfig(file), false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, set := &runtimehooksv1.CanUpdateMachineRequest{}, &runtimehooksv1.CanUpdateMachineSetRequest{}
			of, _ := builders.MachinePair(builders.Machine)
			request.Current.Machine = *of
			set.Current.MachineSet.Namespace, set.Current.MachineSet.Spec.ClusterName = of.Namespace, of.Spec.ClusterName
			request.Current.InfrastructureMachine, request.Desired.InfrastructureMachine = raw(t, tc.before), raw(t, tc.after)
			request.Current.BootstrapConfig, request.Desired.BootstrapConfig = raw(t, tc.config), raw(t, tc.desired)
			response := &runtimehooksv1.CanUpdateMachineResponse{}
			call(t, server, "canupdatemachine/can-update-machine", request, response)
			checkPatches(t, tc.reason, []checked{
				{"spec", request.Current.InfrastructureMachine, request.Desired.InfrastructureMachine, response.InfrastructureMachinePatch, tc.infra},
				{"spec", request.Current.BootstrapConfig, request.Desired.BootstrapConfig, response.BootstrapConfigPatch, tc.bootstrap},
			})
			if response.Status != runtimehooksv1.ResponseStatusSuccess || response.MachinePatch.IsDefined() {
				t.Errorf("unexpected response %+v", response)
			}

			set.Current.InfrastructureMachineTemplate, set.Desired.InfrastructureMachineTemplate = template(t, tc.before), template(t, tc.after)
			set.Current.BootstrapConfigTemplate, set.Desired.BootstrapConfigTemplate = template(t, tc.config), template(t, tc.desired)
			answer := &runtimehooksv1.CanUpdateMachineSetResponse{}
			call(t, server, "canupdatemachineset/can-update-machine-set", set, answer)
			checkPatches(t, tc.reason, []checked{
				{"template", set.Current.InfrastructureMachineTemplate, set.Desired.InfrastructureMachineTemplate, answer.InfrastructureMachineTemplatePatch, tc.infra},
				{"template", set.Current.BootstrapConfigTemplate, set.Desired.BootstrapConfigTemplate, answer.BootstrapConfigTemplatePatch, tc.bootstrap},
			})
		})
	}
}

// template of an object.
func template(t *testing.T, object client.Object) runtime.RawExtension {
	t.Helper()
	values := map[string]any{}
	must.Succeed(t, json.Unmarshal(raw(t, object).Raw, &values))
	return raw(t, map[string]any{
		"apiVersion": values["apiVersion"], "kind": object.GetObjectKind().GroupVersionKind().Kind + "Template",
		"spec": map[string]any{"template": map[string]any{"spec": values["spec"]}},
	})
}

type checked struct {
	kind             string
	current, desired runtime.RawExtension
	patch            runtimehooksv1.Patch
	want             bool
}

func checkPatches(t *testing.T, reason string, all []checked) {
	t.Helper()
	for _, one := range all {
		patched := one.current.Raw
		if one.patch.IsDefined() {
			patched = must.Get(jsonpatch.MergePatch(patched, one.patch.Patch))(t)
		}
		spec := func(text []byte) any {
			values := map[string]any{}
			must.Succeed(t, json.Unmarshal(text, &values))
			return values["spec"]
		}
		if diff := cmp.Diff(spec(one.desired.Raw), spec(patched)); (diff == "") != one.want {
			t.Errorf("%s %s: patched=%v, want %v:\n%s", reason, one.kind, diff == "", one.want, diff)
		}
	}
}

// updating is a world with a machine that Cluster API updates.
func updating(t *testing.T, files *simulatednode.Files) *world.World {
	t.Helper()
	config := kubeadmConfig(bootstrapv1.File{Path: "/etc/containerd/conf.d/a.toml", Content: "new"})
	config.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
	w := world.New(t, builders.New(func(o *builders.Objects) {
		o.Machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: builders.Machine}
		o.Others = append(o.Others, config)
	}))
	w.Engine.HandleExec(files.Exec)
	w.SettleMachine(builders.Machine)
	must.Succeed(t, simulatednode.Record(w.Engine, builders.Container(builders.Machine), map[string]string{"": "done"}))
	world.EditStatus(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: builders.Machine}
	})
	w.SettleMachine(builders.Machine)
	world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
		m.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
	})
	return w
}

// ask for the update, as Cluster API does.
func ask(t *testing.T, w *world.World, server *httptest.Server) *runtimehooksv1.UpdateMachineResponse {
	t.Helper()
	own, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	own.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ContainerMachine"))
	config, _ := world.Get(w, builders.Machine, &bootstrapv1.KubeadmConfig{})
	config.SetGroupVersionKind(bootstrapv1.GroupVersion.WithKind("KubeadmConfig"))
	of, _ := world.Get(w, builders.Machine, &clusterv1.Machine{})
	request, response := &runtimehooksv1.UpdateMachineRequest{}, &runtimehooksv1.UpdateMachineResponse{}
	request.Desired.Machine, request.Desired.InfrastructureMachine, request.Desired.BootstrapConfig = *of, raw(t, own), raw(t, config)
	call(t, server, "updatemachine/update-machine", request, response)
	return response
}

func condition(w *world.World) (state, message string) {
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	return world.State(object, infrav1.UpdatingCondition)
}

func TestUpdateMachine(t *testing.T) {
	t.Parallel()
	files := simulatednode.NewFiles(nil)
	w := updating(t, files)
	server := serve(t, w)

	w.SettleMachine(builders.Machine)
	if got := files.Contents(); len(got) != 0 {
		t.Errorf("an update of another extension is disturbed: %v", got)
	}
	// A request asks the controller; only the controller acts.
	for range 2 {
		if response := ask(t, w, server); response.RetryAfterSeconds == 0 || response.Status != runtimehooksv1.ResponseStatusSuccess {
			t.Errorf("the update is done too early: %+v", response)
		}
	}
	if got := files.Contents(); len(got) != 0 {
		t.Errorf("a request changes the node: %v", got)
	}
	w.SettleMachine(builders.Machine)
	if response := ask(t, w, server); response.RetryAfterSeconds != 0 || response.Message != "" {
		t.Errorf("the update is not done: %+v", response)
	}
	if state, message := condition(w); state != "False/"+infrav1.UpdatedReason {
		t.Errorf("condition: %s %s", state, message)
	}
	if content, restarts := files.Contents()["/etc/containerd/conf.d/a.toml"], files.Restarts("containerd"); content != "new\n" || restarts != 1 {
		t.Errorf("content %q, %d restarts", content, restarts)
	}
	world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
		delete(m.Annotations, clusterv1.UpdateInProgressAnnotation)
	})
	w.SettleMachine(builders.Machine)
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, _ := condition(w); state != "absent" || len(object.Annotations) != 0 {
		t.Errorf("the update does not end: %q, %v", state, object.Annotations)
	}
}

// A problem is named on the Machine, without contents, and always in the same words.
func TestUpdateMachineFails(t *testing.T) {
	t.Parallel()
	files := simulatednode.NewFiles(nil)
	files.Broken = "/etc/containerd/conf.d/a.toml"
	w := updating(t, files)
	server := serve(t, w)
	ask(t, w, server)
	w.SettleMachine(builders.Machine)
	state, message := condition(w)
	if state != "True/"+infrav1.UpdateFailedReason || !strings.Contains(message, "on node "+builders.Container(builders.Machine)+": write files:") || strings.Contains(message, "new") {
		t.Errorf("condition: %s %s", state, message)
	}
	for range 2 {
		if response := ask(t, w, server); response.Message != message || response.RetryAfterSeconds == 0 {
			t.Errorf("unexpected response %+v, want %q", response, message)
		}
	}
	files.Repair()
	w.SettleMachine(builders.Machine)
	if response := ask(t, w, server); response.RetryAfterSeconds != 0 {
		t.Errorf("the update is not continued: %+v", response)
	}
	// While the engine does not answer, the update is not done.
	w.Engine.HandleExec(func(string, engine.Command) (engine.Output, error) { return engine.Output{}, engine.ErrUnavailable })
	if response := ask(t, w, server); response.RetryAfterSeconds == 0 {
		t.Errorf("the update is done without a node: %+v", response)
	}
}
