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

package access_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	enginesCluster = "engines-test"
	secondEngine   = "second"
)

// TestEngines: clusters on a second engine, which is on another host: a network namespace of this machine. It is slow,
// has other credentials, is reached through SSH instead of TLS, and is lost with a cluster on it.
func TestEngines(t *testing.T) {
	if integration.EngineName() != "docker" {
		t.Skip("the second engine is Docker's, with TLS")
	}
	first := integration.Engine(t)
	before := capcontest.Ours(t, first)
	program := capcontest.Build(t, enginesCluster)
	host := capcontest.NewLAN(t).StartHost(secondEngine)
	link, ssh := host.OpenLink(t), host.StartSSH(t)
	// It is kept, because it has an engine.
	t.Cleanup(func() { _, _ = program.Run(context.WithoutCancel(t.Context()), "plane", "down") })
	program.DownBeforeAndAfter()
	s := &enginesTest{program: program, host: host, link: link, ssh: ssh}
	program.MustRun(append([]string{"engine", "add", secondEngine, link.Endpoint}, host.Issue("client").Flags()...)...)
	s.api = capcontest.Management(t, program)
	s.reachable(t, metav1.ConditionTrue, "")
	capcontest.RunSteps(t, []capcontest.Step{
		{Name: "port in use on the second host", Run: s.portTaken},
		{Name: "created on the second engine", Run: s.created},
		{Name: "engine in use", Run: s.inUse},
		{Name: "engine responds late", Run: s.slow},
		{Name: "other certificates under load", Run: s.rotated},
		{Name: "wrong certificate", Run: s.refused},
		{Name: "through SSH", Run: s.overSSH},
		{Name: "deleted", Run: s.deleted},
		{Name: "lost", Run: s.lost},
	})
	program.MustRun("engine", "remove", secondEngine)
	program.MustRun("plane", "down")
	capcontest.NothingLeftSince(t, first, before)
}

type enginesTest struct {
	program *capcontest.Program
	host    *capcontest.Host
	// link is how the engine of the host is reached first, and ssh is how later.
	link *capcontest.Link
	ssh  capcontest.HostSSH
	api  client.Client
}

// created: its containers are on the second engine alone, and its API server is reached by the address of that host.
func (s *enginesTest) created(t *testing.T) {
	program := s.program.At(t)
	program.MustRun(s.up(t)...)
	capcontest.NodesReady(t, program.ConnectCluster(), 2)
	if nodes := capcontest.NodeContainers(t, integration.Engine(t), enginesCluster); len(nodes) > 0 {
		t.Errorf("containers on the first engine: %q", capcontest.IDs(nodes))
	}
	if nodes := capcontest.NodeContainers(t, s.host.Connect(t), enginesCluster); len(nodes) != 2 {
		t.Errorf("want two containers on the second engine, got %q", capcontest.IDs(nodes))
	}
	if kubeconfig := string(program.Kubeconfig(enginesCluster)); !strings.Contains(kubeconfig, "https://"+s.host.Address+":"+enginesPort) {
		t.Errorf("the kubeconfig does not have address and port of the host:\n%s", kubeconfig)
	}
	if log := program.MustRun("logs", enginesCluster, "--tail", "1"); log == "" {
		t.Error("logs prints nothing")
	}
}

// inUse: it cannot be removed, and the message has the cluster.
func (s *enginesTest) inUse(t *testing.T) {
	output, err := s.program.Command(t.Context(), "engine", "remove", secondEngine).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "has cluster "+enginesCluster) {
		t.Errorf("want a refusal that names the cluster, got %v:\n%s", err, output)
	}
}

func uids(machines []clusterv1.Machine) map[string]string {
	found := map[string]string{}
	for i := range machines {
		found[machines[i].Name] = string(machines[i].UID)
	}
	return found
}

// refused: a certificate of another authority is a condition, and the right one ends it.
func (s *enginesTest) refused(t *testing.T) {
	right := s.host.Issue("right")
	s.replaceCredentials(t, capcontest.NewAuthority(t).Issue("wrong"))
	s.reachable(t, metav1.ConditionFalse, "certificate")
	s.replaceCredentials(t, right)
	s.reachable(t, metav1.ConditionTrue, "")
}

// lost: nothing is taken for gone until the administrator says so. What was left there is removed once the engine is back.
func (s *enginesTest) lost(t *testing.T) {
	program := s.program.At(t)
	program.MustRun("up", enginesCluster, "--engine-name", secondEngine, "--workers", "0")
	s.host.Freeze(t)
	resume := func() { s.host.Resume(t) }
	t.Cleanup(resume)
	s.reachable(t, metav1.ConditionFalse, "")
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: enginesCluster}}
	must.Succeed(t, s.api.Delete(t.Context(), cluster))
	capcontest.Eventually(t, "the deletion waits for the engine", func(ctx context.Context) (string, error) {
		machines := &infrav1.ContainerMachineList{}
		if err := s.api.List(ctx, machines); err != nil || len(machines.Items) != 1 {
			return fmt.Sprintf("%d ContainerMachines", len(machines.Items)), err
		}
		if machines.Items[0].DeletionTimestamp.IsZero() {
			return "the ContainerMachine is not deleted", nil
		}
		return "", nil
	})
	s.declareLost(t, true)
	capcontest.Eventually(t, "the Cluster is gone", func(ctx context.Context) (string, error) {
		err := s.api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it exists", err
	})
	if debts := s.engine(t).Spec.Debts; len(debts) != 1 {
		t.Errorf("want one debt, got %+v", debts)
	}
	resume()
	second := s.host.Connect(t)
	if nodes := capcontest.NodeContainers(t, second, enginesCluster); len(nodes) != 1 {
		t.Errorf("want the node of before, got %q", capcontest.IDs(nodes))
	}
	s.declareLost(t, false)
	capcontest.Eventually(t, "the engine is clean", func(context.Context) (string, error) {
		if debts := s.engine(t).Spec.Debts; len(debts) > 0 {
			return fmt.Sprintf("%+v", debts), nil
		}
		return "", nil
	})
	capcontest.NothingLeftSince(t, second, nil)
	program.MustRun("down", enginesCluster) // its record
}

func (s *enginesTest) declareLost(t *testing.T, isLost bool) {
	t.Helper()
	declareLost(t, s.api, secondEngine, isLost)
}

// declareLost an engine, as its administrator does.
func declareLost(t *testing.T, api client.Client, name string, isLost bool) {
	t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}
	capcontest.Edit(t, api, key, &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(isLost) })
}

func (s *enginesTest) deleted(t *testing.T) {
	s.program.At(t).MustRun("down", enginesCluster)
	capcontest.NothingLeftSince(t, s.host.Connect(t), nil)
}

// replaceCredentials of the engine, as its administrator does.
func (s *enginesTest) replaceCredentials(t *testing.T, by capcontest.Credentials) {
	t.Helper()
	found := s.engine(t)
	key := client.ObjectKey{Namespace: found.Namespace, Name: found.Spec.CredentialsSecretName}
	capcontest.Edit(t, s.api, key, &corev1.Secret{}, func(secret *corev1.Secret) { secret.Data = by.Data(t) })
}

func (s *enginesTest) engine(t *testing.T) *infrav1.ContainerEngine {
	t.Helper()
	found := &infrav1.ContainerEngine{}
	must.Succeed(t, s.api.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: secondEngine}, found))
	return found
}

func (s *enginesTest) reachable(t *testing.T, status metav1.ConditionStatus, words string) {
	t.Helper()
	engineReachable(t, s.api, secondEngine, status, words)
}

// engineReachable waits for the state of the condition, and words in its message.
func engineReachable(t *testing.T, api client.Client, name string, status metav1.ConditionStatus, words string) {
	t.Helper()
	capcontest.Eventually(t, fmt.Sprintf("engine %s is reachable: %s", name, status), func(ctx context.Context) (string, error) {
		found := &infrav1.ContainerEngine{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, found); err != nil {
			return "", client.IgnoreNotFound(err)
		}
		condition := meta.FindStatusCondition(found.Status.Conditions, infrav1.EngineReachableCondition)
		if condition == nil || condition.Status != status || !strings.Contains(condition.Message, words) {
			return fmt.Sprintf("%+v", ptr.Deref(condition, metav1.Condition{})), nil
		}
		return "", nil
	})
}
