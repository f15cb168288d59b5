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

package capcon_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const ignitionCluster = "ignition-test"

// TestIgnition makes a cluster whose nodes get their bootstrap data as
// Ignition, and a worker whose data makes it fail.
func TestIgnition(t *testing.T) {
	eng := integration.Engine(t)
	cluster := declare(t, eng, ignitionCluster)
	program := cluster.program
	objects := fillIn(t, "../../templates/cluster-template-ignition.yaml", flavorValues(ignitionCluster))
	for _, object := range objects {
		cluster.apply(t, object.DeepCopy())
	}
	if !t.Run("ready", func(t *testing.T) {
		cluster.comesUp(t, 2)
		for _, container := range nodeContainers(t, eng, ignitionCluster) {
			// What was enabled for the bootstrap's boot is so for those to come.
			output, err := eng.Exec(t.Context(), container.Name, engine.Command{Args: []string{"systemctl", "is-enabled", "kubeadm.service"}})
			if err != nil || strings.TrimSpace(string(output.Stdout)) != "enabled" {
				t.Errorf("kubeadm.service in %s: %q, %v", container.Name, output.Stdout, err)
			}
		}
	}) {
		t.Fatal("a cluster that is not ready has no use for another worker")
	}
	t.Run("failing", func(t *testing.T) {
		const token = "abcdef.0123456789abcdef"
		program := program.at(t)
		for _, object := range failing(t, objects, "echo the token is "+token, "exit 42") {
			cluster.apply(t, object)
		}
		var reported string
		eventuallyWithin(t, 10*time.Minute, "the worker's bootstrap failed", func(context.Context) (string, error) {
			reason, message, err := bootstrapOf(t, program, ignitionCluster+"-failing")
			if reason == infrav1.BootstrapFailedReason {
				reported = message
				return "", nil
			}
			return reason + ": " + message, err
		})
		for _, want := range []string{"systemd.units[0]", "exit code 42", "the token is [redacted]"} {
			if !strings.Contains(reported, want) {
				t.Errorf("the condition does not say %q: %s", want, reported)
			}
		}
		if strings.Contains(reported, token) {
			t.Errorf("the condition contains the token: %s", reported)
		}
	})
}

// failing returns the flavor's workers again, with commands before kubeadm.
func failing(t *testing.T, flavor []*unstructured.Unstructured, commands ...string) []*unstructured.Unstructured {
	t.Helper()
	const name = ignitionCluster + "-failing"
	set := func(object *unstructured.Unstructured, value any, fields ...string) {
		must.Succeed(t, unstructured.SetNestedField(object.Object, value, fields...))
	}
	var objects []*unstructured.Unstructured
	for _, object := range flavor {
		object := object.DeepCopy()
		switch object.GetKind() {
		case "KubeadmConfigTemplate":
			list := make([]any, 0, len(commands))
			for _, command := range commands {
				list = append(list, command)
			}
			set(object, list, "spec", "template", "spec", "preKubeadmCommands")
		case "MachineDeployment":
			set(object, name, "spec", "template", "spec", "bootstrap", "configRef", "name")
		default:
			continue
		}
		object.SetName(name)
		objects = append(objects, object)
	}
	return objects
}
