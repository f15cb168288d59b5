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

package node_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const hostsFile = "/etc/containerd/certs.d/r.example/hosts.toml"

func withRegistries(registries ...infrav1.Registry) builders.Option {
	return func(o *builders.Objects) { o.ContainerCluster.Spec.Registries = registries }
}

func setRegistries(registries ...infrav1.Registry) func(*testing.T, *world.World) {
	return func(_ *testing.T, w *world.World) {
		world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) { c.Spec.Registries = registries })
	}
}

// pullSecret for r.example, as kubectl creates it.
func pullSecret(content string) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		must.Succeed(t, w.Client.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "pull"},
			Type:       corev1.SecretTypeDockerConfigJson,
			Data:       map[string][]byte{corev1.DockerConfigJsonKey: []byte(content)},
		}))
	}
}

// hostsFileHas asserts what containerd reads, and the condition.
func hostsFileHas(condition string, wanted ...string) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		content := must.Get(w.Engine.ReadFile(container(), hostsFile))(t)
		for _, want := range wanted {
			if !strings.Contains(string(content), want) {
				t.Errorf("%s has no %s:\n%s", hostsFile, want, content)
			}
		}
		if header := must.Get(w.Engine.FileHeader(container(), hostsFile))(t); header.Mode != 0o600 {
			t.Errorf("mode of %s: %o", hostsFile, header.Mode)
		}
		object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
		if state, _ := world.State(object, infrav1.RegistriesConfiguredCondition); state != condition {
			t.Errorf("condition %s: %s, want %s", infrav1.RegistriesConfiguredCondition, state, condition)
		}
	}
}

// registries tests how nodes get the configuration of registries.
func registries() map[string]nodeTest {
	const configured = "True/" + infrav1.RegistriesConfiguredReason
	mirrored := infrav1.Registry{Host: "r.example", Mirrors: []infrav1.RegistryMirror{{URL: "http://10.0.0.5:5000"}}}
	private := infrav1.Registry{Host: "r.example", CredentialsSecretName: "pull"}
	asNode := all(isDone, becomesNode)
	removes := func(_ *testing.T, w *world.World) {
		w.Engine.HandleExec(func(container string, command engine.Command) (engine.Output, error) {
			if slices.Equal(command.Args, []string{"rm", "-r", "--", path.Dir(hostsFile)}) {
				return engine.Output{}, w.Engine.WriteFile(container, hostsFile, []byte("removed"))
			}
			return engine.Output{}, nil
		})
	}
	removed := func(t *testing.T, w *world.World) {
		t.Helper()
		if content := must.Get(w.Engine.ReadFile(container(), hostsFile))(t); string(content) != "removed" {
			t.Errorf("%s has:\n%s", hostsFile, content)
		}
		object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
		if state, _ := world.State(object, infrav1.RegistriesConfiguredCondition); state != "absent" {
			t.Errorf("condition %s: %s", infrav1.RegistriesConfiguredCondition, state)
		}
	}
	return map[string]nodeTest{
		"RegistriesAtCreation": {
			reason: "A node has them before it first pulls.",
			args:   args{options: []builders.Option{withRegistries(mirrored)}},
			want:   want{bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: 2 * time.Second},
			assert: hostsFileHas("absent", "http://10.0.0.5:5000"),
		},
		"RegistriesLater": {
			reason: "A change needs no new node.",
			args:   args{change: all(asNode, setRegistries(mirrored))},
			assert: hostsFileHas(configured, "http://10.0.0.5:5000"),
		},
		"RegistriesAfterRestart": {
			reason: "A manager that finds a node with other content updates it.",
			args: args{
				options: []builders.Option{withRegistries(mirrored)},
				change: all(asNode, func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.WriteFile(container(), hostsFile, []byte("server = \"other\"\n")))
					w.Restart()
				}),
			},
			assert: hostsFileHas(configured, "http://10.0.0.5:5000"),
		},
		"RegistriesRemoved": {
			reason: "What the spec does not name any more is removed.",
			args: args{
				options: []builders.Option{withRegistries(mirrored)},
				setup:   removes,
				change:  all(asNode, setRegistries()),
			},
			assert: removed,
		},
		"RegistriesRemovedMeanwhile": {
			reason: "What a node has is asked of the node: neither a manager nor a status caches it.",
			args: args{
				options: []builders.Option{withRegistries(mirrored)},
				setup:   removes,
				change: all(asNode, func(t *testing.T, w *world.World) {
					t.Helper()
					setRegistries()(t, w)
					world.EditStatus(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
						m.Status = infrav1.ContainerMachineStatus{}
					})
					w.Restart()
				}),
			},
			assert: removed,
		},
		"CredentialsAtCreation": {
			reason: "They are in the node, and nowhere else.",
			args: args{
				options: []builders.Option{withRegistries(private)},
				setup:   pullSecret(`{"auths":{"https://r.example/v1/":{"auth":"YTpi"}}}`),
				change:  asNode,
			},
			want:   want{requeueAfter: time.Minute},
			assert: hostsFileHas(configured, `Authorization = "Basic YTpi"`),
		},
		"NoCredentials": {
			reason: "A node that could not pull is not created.",
			args:   args{options: []builders.Option{withRegistries(private)}},
			want: want{
				containerReady: "False/" + infrav1.RegistryCredentialsInvalidReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason,
				message: `Secret "pull" not found; create it with "kubectl create secret docker-registry"`, requeueAfter: reconcile.UserInterval,
			},
		},
		"BadCredentials": {
			reason: "The error names the Secret and does not quote it.",
			args:   args{options: []builders.Option{withRegistries(private)}, setup: pullSecret(`{"auths":{"r.example":{"auth":"c2VjcmV0"}}}`)},
			want: want{
				containerReady: "False/" + infrav1.RegistryCredentialsInvalidReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason,
				message: `Secret "pull" has no credentials in key ".dockerconfigjson"; create`, requeueAfter: reconcile.UserInterval,
			},
		},
		"CredentialsGone": {
			reason: "A node that runs keeps what it has, and is as ready as before.",
			args: args{
				options: []builders.Option{withRegistries(private)},
				setup:   pullSecret(`{"auths":{"r.example":{"username":"a","password":"b"}}}`),
				change: all(asNode, func(_ *testing.T, w *world.World) {
					world.Purge(w, "pull", &corev1.Secret{})
				}),
			},
			want:   want{requeueAfter: reconcile.UserInterval},
			assert: hostsFileHas("False/"+infrav1.RegistryCredentialsInvalidReason, `Authorization = "Basic YTpi"`),
		},
	}
}
