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

package certs_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
)

const (
	day     = 24 * time.Hour
	oneYear = 365 * day
)

// certsWorld has a cluster demo of three control planes and a worker that kubeadm set up on
// 2026-01-01.
type certsWorld struct {
	*commandtest.World
	nodes *simulatednode.ControlPlane
}

var controlPlaneNodes = []string{"demo-a", "demo-c", "demo-e"}

func newCertsWorld(t *testing.T) certsWorld {
	t.Helper()
	w := commandtest.WithNodes(t)
	w.Pass(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Sub(w.Now()))
	c := certsWorld{w, must.Get(simulatednode.NewControlPlane(t, w.Engine, w.Now))(t)}
	for _, name := range controlPlaneNodes[1:] {
		w.AddContainer(name, "demo", "demo-id", identity.RoleControlPlane)
	}
	for _, name := range controlPlaneNodes {
		must.Succeed(t, c.nodes.Init(name))
		machine := commandtest.ReadyMachine(name, clusterv1.MachineControlPlaneLabel, "")
		machine.Spec.InfrastructureRef.Name = name
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: "KubeadmConfig", Name: name + "-config"}
		w.Create(machine, &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name + "-config",
			Annotations: map[string]string{clusterv1.MachineCertificatesExpiryDateAnnotation: "2027-01-01T00:00:00Z"},
		}})
	}
	must.Succeed(t, c.nodes.Join("demo-b"))
	commandtest.Update(w, "demo", &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) {
		cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	})
	commandtest.Update(w, "demo", &infrav1.ContainerCluster{}, func(infrastructure *infrav1.ContainerCluster) {
		infrastructure.Spec.LoadBalancer.HostPort = 40123
	})
	c.clusterAPI()
	c.setKubeconfig()
	must.Get(c.Directory().WriteKubeconfig("demo", []byte(c.kubeconfig())))(t)
	w.Controllers = c.clusterAPI
	return c
}

// setKubeconfig of now, as Cluster API does after half a year.
func (c certsWorld) setKubeconfig() {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-kubeconfig"}}
	must.Succeed(c.T, client.IgnoreNotFound(c.Client.Delete(c.T.Context(), secret)))
	secret.Data = map[string][]byte{"value": must.Get(c.nodes.Kubeconfig())(c.T)}
	secret.ResourceVersion = ""
	c.Create(secret)
}

// kubeconfig as capcon prints it.
func (c certsWorld) kubeconfig() string {
	_, out, _ := c.Run("kubeconfig", "demo")
	return out
}

// clusterAPI copies the date of each KubeadmConfig into the status of its Machine.
func (c certsWorld) clusterAPI() {
	for _, name := range controlPlaneNodes {
		commandtest.Update(c.World, name, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
			machine.Status.CertificatesExpiryDate = metav1.NewTime(must.Get(time.Parse(time.RFC3339, c.recorded(name)))(c.T))
		})
	}
}

// recorded is the date that Cluster API has of a Machine.
func (c certsWorld) recorded(machine string) string {
	config := &bootstrapv1.KubeadmConfig{}
	c.Get(machine+"-config", config)
	return config.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]
}

// wantRenewed checks that everything is new and in use, and that the user is not warned.
func (c certsWorld) wantRenewed(until string) {
	c.T.Helper()
	c.wantInUse(until)
	c.clusterAPI()
	commandtest.Lacks(c.T, c.MustNotYet("status"), "Certificates")
	commandtest.Lacks(c.T, c.MustRun("certs", "demo"), "ended", "CertificatesExp")
}

func (c certsWorld) wantInUse(until string) {
	c.T.Helper()
	if stale := c.nodes.Stale(); len(stale) > 0 {
		c.T.Errorf("components with old certificates: %v", stale)
	}
	for _, name := range controlPlaneNodes {
		if got := c.recorded(name); !strings.HasPrefix(got, until) {
			c.T.Errorf("Cluster API has %s for %s, want %s", got, name, until)
		}
	}
}

func TestCertsRenew(t *testing.T) {
	t.Parallel()
	c := newCertsWorld(t)
	commandtest.Lacks(t, c.MustNotYet("status"), "Certificates")
	// The load balancer is no node.
	commandtest.Contains(t, c.MustRun("certs"), "demo  demo-a  apiserver  2027-01-01T00:00:00Z  365d",
		"demo  demo-e  admin.conf  2027-01-01T00:00:00Z", "demo  demo-b  kubelet-client  2027", "demo  demo-c  etcd-ca  2035")

	c.MustRun("kubeconfig", "demo", "--merge")
	c.Pass(oneYear - 20*day)
	c.setKubeconfig()
	const trouble = "cluster demo: CertificatesExpiring: certificate admin.conf of node demo-a ends on 2027-01-01"
	for _, out := range []string{c.MustNotYet("status"), c.MustNotYet("status", "demo"), c.MustRun("certs")} {
		commandtest.Contains(t, out, trouble, "remedy: capcon certs renew demo")
	}
	commandtest.Contains(t, c.MustNotYet("status", "-o", "json"), `"reason": "CertificatesExpiring"`)

	out := c.MustRun("certs", "renew", "demo")
	commandtest.Contains(t, out, "Updated context capcon-demo in "+c.World.Kubeconfig)
	commandtest.Contains(t, out, "demo-a: components are ready", "The certificates of cluster demo end on 2027-12-12.", "Updated "+c.Directory().KubeconfigPath("demo"))
	c.wantRenewed("2027-12-12T")
	stop := "crictl stop"
	for _, name := range controlPlaneNodes {
		if diff := cmp.Diff([]string{"kubeadm certs", stop, stop, stop, stop}, c.nodes.Commands(name)); diff != "" {
			t.Errorf("commands in %s (-want +got):\n%s", name, diff)
		}
	}
	if commands := c.nodes.Commands("demo-b"); len(commands) > 0 {
		t.Errorf("commands in a worker: %v", commands)
	}
	merged := must.Get(clientcmd.LoadFromFile(c.World.Kubeconfig))(t).AuthInfos["capcon-demo"]
	if printed := must.Get(clientcmd.Load([]byte(c.kubeconfig())))(t).AuthInfos["admin"]; !bytes.Equal(merged.ClientCertificateData, printed.ClientCertificateData) {
		t.Error("the user's kubeconfig has another certificate")
	}
	saved := must.Get(os.ReadFile(c.Directory().KubeconfigPath("demo")))(t)
	if diff := cmp.Diff(c.kubeconfig(), string(saved)); diff != "" {
		t.Errorf("saved kubeconfig (-want +got):\n%s", diff)
	}

	commandtest.Lacks(t, c.MustRun("certs", "renew", "demo"), "Updated")
	if got := len(c.nodes.Commands("demo-a")); got != 5 {
		t.Errorf("A second renewal ran %d commands more", got-5)
	}
	c.Pass(day)
	commandtest.Contains(t, c.MustRun("certs", "renew", "demo", "--force"), "end on 2027-12-13")
	c.wantRenewed("2027-12-13T")
}

// TestCertsRenewEnded: nothing that needs the API server works, kubelets do not start, and etcd
// has no quorum before most of its members have other certificates.
func TestCertsRenewEnded(t *testing.T) {
	t.Parallel()
	c := newCertsWorld(t)
	c.Pass(oneYear + 3*day)
	c.setKubeconfig()
	c.nodes.Crash("demo-c")
	commandtest.Contains(t, c.MustNotYet("status"), "cluster demo: CertificatesExpired: certificate admin.conf of node demo-a ended on 2027-01-01",
		"remedy: capcon certs renew demo")
	commandtest.Contains(t, c.MustRun("certs"), "demo-b  kubelet-client  2027-01-01T00:00:00Z  ended")
	commandtest.Contains(t, c.MustRun("certs", "renew", "demo"), "demo-b kubelet: certificate renewed", "end on 2028-01-04")
	c.wantRenewed("2028-01-04T")
	if diff := cmp.Diff([]string{"sh -c", "systemctl restart"}, c.nodes.Commands("demo-b")); diff != "" {
		t.Errorf("commands in the worker (-want +got):\n%s", diff)
	}
}

// TestCertsRenewInterrupted after each command that changes something in a node, where everything
// has ended.
func TestCertsRenewInterrupted(t *testing.T) {
	t.Parallel()
	changes := []string{"kubeadm certs", "crictl stop", "systemctl restart", "sh -c"}
	for n := 1; !t.Failed(); n++ {
		c := newCertsWorld(t)
		c.Pass(oneYear + day)
		c.setKubeconfig()
		calls := 0
		c.Engine.AfterCall(func(call simulated.Call) error {
			if call.Method == "Exec" && slices.Contains(changes, call.Command[0]+" "+call.Command[1]) {
				calls++
			}
			if calls >= n { // The process is dead: it makes no further call.
				return errors.New("interrupted")
			}
			return nil
		})
		code, _, _ := c.Run("certs", "renew", "demo")
		c.Engine.ResetHooks()
		c.Engine.HandleExec(c.nodes.Exec)
		c.MustRun("certs", "renew", "demo")
		c.wantInUse("2028-01-02T")
		for _, node := range controlPlaneNodes {
			stops := slices.DeleteFunc(c.nodes.Commands(node), func(command string) bool { return command != "crictl stop" })
			if len(stops) != 4 {
				t.Errorf("After an interruption at change %d, %d components of %s were restarted", n, len(stops), node)
			}
		}
		if code == 0 {
			if n < 20 {
				t.Errorf("Only %d changes", n)
			}
			return
		}
	}
}

// TestCertsWithoutPlane: the engine is enough, and Cluster API gets its dates later.
func TestCertsWithoutPlane(t *testing.T) {
	t.Parallel()
	c := newCertsWorld(t)
	c.Pass(oneYear - day)
	c.setKubeconfig()
	ready := c.Plane.Current
	c.Plane.Current = plane.State{ID: "plane", Exists: true, Detail: "is starting"}
	commandtest.Contains(t, c.MustFail("status"), "cluster demo: CertificatesExpiring: certificate admin.conf of node demo-a ends on 2027-01-01")
	commandtest.Contains(t, c.MustRun("certs"), "demo  demo-a  apiserver  2027")
	commandtest.Contains(t, c.MustRun("certs", "renew", "demo"), "end on 2027-12-31", "the management plane is not ready", "run the command again")
	if stale := c.nodes.Stale(); len(stale) > 0 {
		t.Errorf("components with old certificates: %v", stale)
	}
	c.Plane.Current = ready
	// The nodes are known to have others than Cluster API reports.
	commandtest.Contains(t, c.MustNotYet("status"), "the certificate in "+c.Directory().KubeconfigPath("demo")+" ends on 2027-01-01")
	c.MustRun("certs", "renew", "demo")
	c.wantRenewed("2027-12-31T")
}

func TestCertsRenewRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		before func(t *testing.T, c certsWorld)
		errs   []string
	}{
		"Stopped": {
			"nothing can be run in it", func(t *testing.T, c certsWorld) {
				for _, node := range controlPlaneNodes {
					must.Succeed(t, c.Engine.StopContainer(t.Context(), node, 0))
				}
			}, []string{`no running control plane node; start it with "capcon start demo"`},
		},
		"ExternalAuthority": {
			"kubeadm skips such certificates without an error", func(t *testing.T, c certsWorld) {
				must.Succeed(t, c.Engine.WriteFile("demo-c", "/etc/kubernetes/pki/ca.key", nil))
			}, []string{"node demo-c does not have the key of the authority that signed admin.conf", "external authority"},
		},
		"ExternalFrontProxyAuthority": {
			"also one of the others", func(t *testing.T, c certsWorld) {
				must.Succeed(t, c.Engine.WriteFile("demo-c", "/etc/kubernetes/pki/front-proxy-ca.key", nil))
			}, []string{"front-proxy-client"},
		},
		"OwnBootstrap": {
			"it is not known what its control plane needs", func(t *testing.T, c certsWorld) {
				commandtest.Update(c.World, "demo-a", &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
					machine.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: ptr.To("mine")}
				})
			}, []string{"the bootstrap data of Machine demo-a is of a Secret of your own and not of KubeadmConfig"},
		},
		"NoCertificates": {
			"another distribution has them elsewhere", func(t *testing.T, c certsWorld) {
				c.Engine.OnCall(func(call simulated.Call) error {
					if call.Method == "Download" {
						return engine.ErrNotFound
					}
					return nil
				})
			}, []string{"node demo-a has no certificates of kubeadm"},
		},
		"NoKubeadm": {
			"the program is looked for before a file is changed", func(t *testing.T, c certsWorld) {
				c.Engine.HandleExec(func(string, engine.Command) (engine.Output, error) {
					return engine.Output{Stderr: []byte("kubeadm: not found")}, &engine.ExitError{Code: 127}
				})
			}, []string{"run kubeadm in node demo-a", "kubeadm: not found"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCertsWorld(t)
			c.Pass(oneYear - day)
			tc.before(t, c)
			commandtest.Contains(t, c.MustFail("certs", "renew", "demo"), tc.errs...)
			for _, node := range controlPlaneNodes {
				if commands := c.nodes.Commands(node); len(commands) > 0 {
					t.Errorf("%s: commands in %s: %v", tc.reason, node, commands)
				}
			}
		})
	}
}

// TestCertsRenewOfSomeNodes: a control plane that does not run must not keep the others from it.
func TestCertsRenewOfSomeNodes(t *testing.T) {
	t.Parallel()
	c := newCertsWorld(t)
	c.Pass(oneYear - day)
	c.setKubeconfig()
	must.Succeed(t, c.Engine.StopContainer(t.Context(), "demo-c", 0))
	commandtest.Contains(t, c.MustFail("certs", "renew", "demo"), "certificates not renewed in nodes that are not running: demo-c; start them, and run the command again")
	commandtest.Contains(t, c.recorded("demo-a"), "2027-12-31T")
	must.Succeed(t, c.Engine.StartContainer(t.Context(), "demo-c"))
	c.MustRun("certs", "renew", "demo")
	c.wantRenewed("2027-12-31T")
}

// TestCertsRenewTimesOut: the message says how far it is.
func TestCertsRenewTimesOut(t *testing.T) {
	t.Parallel()
	c := newCertsWorld(t)
	c.Pass(oneYear - day)
	ctx, cancel := context.WithCancel(t.Context())
	c.Controllers = cancel
	code, _, errs := c.RunIn(ctx, "certs", "renew", "demo")
	if code != 130 {
		t.Errorf("code %d: %s", code, errs)
	}
	commandtest.Contains(t, errs, "demo-a: restarting etcd")
}

// TestCertsOnEngine: the certificates of nodes on another host are read and renewed there.
func TestCertsOnEngine(t *testing.T) {
	t.Parallel()
	w, build := commandtest.WithEngine(t)
	nodes := must.Get(simulatednode.NewControlPlane(t, build, w.Now))(t)
	must.Succeed(t, nodes.Init("demo-a"))
	must.Succeed(t, w.Directory().Save("silent", state.Cluster{OwnerID: "silent-id", EngineName: "gone", Plane: "plane"}))
	ends := w.Now().Add(oneYear).UTC().Format(time.DateOnly)
	commandtest.Contains(t, w.MustRun("certs", "demo"), "demo     demo-a  apiserver", ends)
	// An engine that is not reached keeps no other from being read.
	code, out, errs := w.Run("certs")
	commandtest.Contains(t, out, "demo-a  apiserver")
	if commandtest.Contains(t, errs, `cluster "silent": engine "gone": not found`); code != 1 {
		t.Errorf("certs ended with %d", code)
	}
	w.Pass(oneYear - day)
	w.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-kubeconfig"}, Data: map[string][]byte{"value": must.Get(nodes.Kubeconfig())(t)},
	})
	commandtest.Contains(t, w.MustRun("certs", "renew", "demo"), "The certificates of cluster demo end on "+w.Now().Add(oneYear).UTC().Format(time.DateOnly))
	if stale := nodes.Stale(); len(stale) > 0 {
		t.Errorf("components with old certificates: %v", stale)
	}
	if calls := w.Engine.MutatingCalls(); len(calls) > 0 {
		t.Errorf("changed the engine of the plane: %v", calls)
	}
}
