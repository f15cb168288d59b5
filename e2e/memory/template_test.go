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

package memory_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drone/envsubst/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const template = "../../template"

// TestIntegrationTemplate leads the first cluster of the template through its life, and creates one of the book's
// ClusterClass. The manager is a process of its own, as with make run.
func TestIntegrationTemplate(t *testing.T) {
	plane := startProcess(t, processes(t))
	s := newStory(t, plane)
	must.Succeed(t, controlplanev1.AddToScheme(s.api.Scheme()))
	must.Get(envtest.InstallCRDs(s.config, envtest.CRDInstallOptions{CRDs: templateKinds(t)}))(t)
	s.runTemplate(plane.Kubeconfig)
	s.createTemplate(string(must.Get(os.ReadFile(filepath.Join(template, "templates", "cluster-template.yaml")))(t)))
	s.isAvailable(1, 1)
	s.scaleControlPlane(3)
	s.isAvailable(3, 1)
	s.scaleControlPlane(1)
	s.isAvailable(1, 1)
	s.deleteCluster()

	page := string(must.Get(os.ReadFile("../../docs/book/templates.md"))(t))
	for _, name := range []string{"class", "topology"} {
		_, code, _ := strings.Cut(page, "<!-- "+name+" -->\n```yaml\n")
		code, _, found := strings.Cut(code, "```")
		if !found {
			t.Fatalf("the book has no %s", name)
		}
		s.createTemplate(code)
	}
	s.isAvailable(1, 1)
	s.deleteCluster()
}

// templateKinds are its CRDs, with the label that its kustomization adds.
func templateKinds(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var kinds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range must.Get(filepath.Glob(filepath.Join(template, "config", "crd", "bases", "*.yaml")))(t) {
		kind := &apiextensionsv1.CustomResourceDefinition{}
		must.Succeed(t, yaml.Unmarshal(must.Get(os.ReadFile(file))(t), kind))
		kind.Labels = map[string]string{clusterv1.GroupVersion.Group + "/v1beta2": kind.Spec.Versions[0].Name}
		kinds = append(kinds, kind)
	}
	return kinds
}

// runTemplate runs its manager.
func (s *story) runTemplate(kubeconfig string) {
	s.t.Helper()
	program := filepath.Join(s.t.TempDir(), "manager")
	build := exec.CommandContext(s.t.Context(), "go", "build", "-o", program, ".")
	build.Dir = template
	if output, err := build.CombinedOutput(); err != nil {
		s.t.Fatalf("build the template: %v\n%s", err, output)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	manager := exec.CommandContext(ctx, program, "--webhook-port=0", "--health-addr=0", "--kubeconfig="+kubeconfig)
	output := &strings.Builder{}
	manager.Stdout, manager.Stderr = output, output
	must.Succeed(s.t, manager.Start())
	s.t.Cleanup(func() {
		cancel()
		_ = manager.Wait()
		if s.t.Failed() {
			s.t.Log(output)
		}
	})
}

// createTemplate creates what clusterctl generates of it.
func (s *story) createTemplate(text string) {
	s.t.Helper()
	variables := map[string]string{
		"CLUSTER_NAME": name, "NAMESPACE": namespace, "KUBERNETES_VERSION": after, "CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
	}
	text = must.Get(envsubst.Eval(text, func(name string) string { return variables[name] }))(s.t)
	objects := must.Get(utilyaml.ToUnstructured([]byte(text)))(s.t)
	for i := range objects {
		objects[i].SetNamespace(namespace)
		s.eventually(objects[i].GetKind()+" is created", func() error {
			return client.IgnoreAlreadyExists(s.api.Create(s.t.Context(), objects[i].DeepCopy()))
		})
	}
}

func (s *story) scaleControlPlane(replicas int32) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the control plane is scaled to %d", replicas), func() error {
		controlPlane := &controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-control-plane"}}
		if err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(controlPlane), controlPlane); err != nil {
			return err
		}
		original := controlPlane.DeepCopy()
		controlPlane.Spec.Replicas = ptr.To(replicas)
		return s.api.Patch(s.t.Context(), controlPlane, client.MergeFrom(original))
	})
}

// isAvailable waits until the cluster is, with that many machines that are.
func (s *story) isAvailable(controlPlanes, workers int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d control planes and %d workers are available", controlPlanes, workers), func() error {
		cluster := &clusterv1.Cluster{}
		if err := s.api.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
			return err
		}
		machines := s.machines()
		for i := range machines {
			machine := &machines[i]
			for _, kind := range []string{clusterv1.DeletingCondition, clusterv1.MachineAvailableCondition, clusterv1.ReadyCondition} {
				if condition := conditions.Get(machine, kind); condition == nil || (condition.Status == metav1.ConditionTrue) == (kind == clusterv1.DeletingCondition) {
					return fmt.Errorf("machine %s: %+v", machine.Name, condition)
				}
			}
		}
		if len(machines) != controlPlanes+workers {
			return fmt.Errorf("there are %d machines", len(machines))
		}
		if !conditions.IsTrue(cluster, clusterv1.ClusterAvailableCondition) {
			return fmt.Errorf("%s: %s", clusterv1.ClusterAvailableCondition, conditions.GetMessage(cluster, clusterv1.ClusterAvailableCondition))
		}
		return nil
	})
}
