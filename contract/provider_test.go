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

package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func example(kind string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": kind, "spec": spec,
	}}
}

func template(kind string) *unstructured.Unstructured {
	return example(kind, map[string]any{"template": map[string]any{"spec": map[string]any{"size": "small"}}})
}

func examples() Objects {
	return Objects{
		Cluster: example("FooCluster", nil), Machine: example("FooMachine", nil), MachinePool: example("FooMachinePool", nil),
		MachineTemplate: template("FooMachineTemplate"), ClusterTemplate: template("FooClusterTemplate"),
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	objects := Objects{MachineTemplate: template("FooMachineTemplate"), ClusterTemplate: template("FooClusterTemplate")}
	for name, c := range map[string]struct {
		reason   string
		provider Provider
		want     error
	}{
		"Command":         {"It runs as a command.", Provider{Command: []string{"manager"}, Objects: objects}, nil},
		"NoWay":           {"Nothing says how it runs.", Provider{Objects: objects}, errHowItRuns},
		"TwoWays":         {"It runs twice.", Provider{Command: []string{"manager"}, Kubeconfig: "kubeconfig", Objects: objects}, errHowItRuns},
		"NoTemplate":      {"Machines cannot be created.", Provider{Kubeconfig: "kubeconfig"}, errObjects},
		"NoCluster":       {"Clusters cannot be created.", Provider{Kubeconfig: "kubeconfig", Objects: Objects{MachineTemplate: objects.MachineTemplate}}, errObjects},
		"InThisProcess":   {"It is a function.", Provider{Run: func(context.Context, Manager) error { return nil }, Objects: objects}, nil},
		"AnotherTimeout":  {"What is set stays.", Provider{Kubeconfig: "kubeconfig", Objects: objects, Timing: Timing{Timeout: time.Hour}}, nil},
		"WithoutTemplate": {"A Cluster is enough.", Provider{Kubeconfig: "kubeconfig", Objects: Objects{MachineTemplate: objects.MachineTemplate, Cluster: example("FooCluster", nil)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.provider.complete()
			if !errors.Is(err, c.want) {
				t.Fatalf("%s: got error %v, want %v", c.reason, err, c.want)
			}
			if err != nil {
				return
			}
			if got.Timing.Timeout == 0 || got.Timing.Quiet != defaultQuiet || got.Name != "FooMachine" {
				t.Errorf("%s: got %+v", c.reason, got)
			}
			want := example("FooMachine", map[string]any{"size": "small"})
			if diff := cmp.Diff(want, got.Objects.Machine); diff != "" {
				t.Errorf("the machine of the template (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	got, err := Load("testdata/provider.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "example" || got.Objects.ExternalCluster == nil || got.Objects.Cluster == nil || got.Objects.MachineTemplate == nil {
		t.Errorf("got %+v", got)
	}
	if got.Timing.Timeout != 2*time.Minute || got.Exceptions["IC11"] == "" {
		t.Errorf("got timing %v, exceptions %v", got.Timing, got.Exceptions)
	}
	for name, want := range map[string]bool{"there": true, "gone": false} {
		object := example("FooMachine", nil)
		object.SetName(name)
		exists, err := got.Infrastructure.Exists(t.Context(), object)
		if err != nil || exists != want {
			t.Errorf("%s exists: %t, %v", name, exists, err)
		}
	}
	if _, err := ReadObjects("testdata/provider.yaml"); !errors.Is(err, errUnknownKind) {
		t.Errorf("got error %v, want %v", err, errUnknownKind)
	}
}
