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

package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
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
	*world
	nodes *simulatednode.ControlPlane
}

var controlPlaneNodes = []string{"demo-a", "demo-c", "demo-e"}

func newCertsWorld(t *testing.T) certsWorld {
	t.Helper()
	w, _ := loadWorld(t)
	w.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := certsWorld{w, must.Get(simulatednode.NewControlPlane(t, w.engine, w.time))(t)}
	owner := identity.Owner{Namespace: "default", Cluster: "demo", ID: "demo-id"}
	for _, name := range controlPlaneNodes[1:] {
		spec := engine.Spec{Name: name, Image: "localhost/capcon/node:v1.36.3", Labels: owner.ContainerLabels(identity.RoleControlPlane, name)}
		must.Get(w.engine.CreateContainer(t.Context(), spec))(t)
		must.Succeed(t, w.engine.StartContainer(t.Context(), name))
	}
	for _, name := range controlPlaneNodes {
		must.Succeed(t, c.nodes.Init(name))
		machine := readyMachine(name, clusterv1.MachineControlPlaneLabel, "")
		machine.Spec.InfrastructureRef.Name = name
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: "KubeadmConfig", Name: name + "-config"}
		must.Succeed(t, w.client.Create(t.Context(), machine))
		must.Succeed(t, w.client.Create(t.Context(), &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name + "-config",
			Annotations: map[string]string{clusterv1.MachineCertificatesExpiryDateAnnotation: "2027-01-01T00:00:00Z"},
		}}))
	}
	must.Succeed(t, c.nodes.Join("demo-b"))
	cluster, infrastructure := w.cluster(), &infrav1.ContainerCluster{}
	cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	must.Succeed(t, w.client.Update(t.Context(), cluster))
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo"}, infrastructure))
	infrastructure.Spec.LoadBalancer.HostPort = 40123
	must.Succeed(t, w.client.Update(t.Context(), infrastructure))
	c.clusterAPI()
	c.setKubeconfig()
	must.Get(c.directory().WriteKubeconfig("demo", []byte(c.kubeconfig())))(t)
	w.controllers = c.clusterAPI
	return c
}

func (c certsWorld) directory() state.Directory {
	return state.For(filepath.Join(c.world.state, "capcon"), "simulated", "simulated")
}

// setKubeconfig of now, as Cluster API does after half a year.
func (c certsWorld) setKubeconfig() {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-kubeconfig"}}
	must.Succeed(c.t, client.IgnoreNotFound(c.client.Delete(c.t.Context(), secret)))
	secret.Data = map[string][]byte{"value": must.Get(c.nodes.Kubeconfig())(c.t)}
	secret.ResourceVersion = ""
	must.Succeed(c.t, c.client.Create(c.t.Context(), secret))
}

// kubeconfig as capcon prints it.
func (c certsWorld) kubeconfig() string {
	_, out, _ := c.run("kubeconfig", "demo")
	return out
}

// clusterAPI copies the date of each KubeadmConfig into the status of its Machine.
func (c certsWorld) clusterAPI() {
	for _, name := range controlPlaneNodes {
		machine := &clusterv1.Machine{}
		must.Succeed(c.t, c.client.Get(c.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, machine))
		machine.Status.CertificatesExpiryDate = metav1.NewTime(must.Get(time.Parse(time.RFC3339, c.recorded(name)))(c.t))
		must.Succeed(c.t, c.client.Update(c.t.Context(), machine))
	}
}

// recorded is the date that Cluster API has of a Machine.
func (c certsWorld) recorded(machine string) string {
	config := &bootstrapv1.KubeadmConfig{}
	must.Succeed(c.t, c.client.Get(c.t.Context(), client.ObjectKey{Namespace: "default", Name: machine + "-config"}, config))
	return config.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]
}

func (c certsWorld) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c certsWorld) mustRun(args ...string) string {
	c.t.Helper()
	code, out, errs := c.run(args...)
	if code != 0 {
		c.t.Fatalf("%v ended with %d:\n%s%s", args, code, out, errs)
	}
	return out + errs
}

func mustNotContain(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(text, word) {
			t.Errorf("Unwanted %q in:\n%s", word, text)
		}
	}
}

// wantRenewed checks that everything is new and in use, and that the user is not warned.
func (c certsWorld) wantRenewed(until string) {
	c.t.Helper()
	c.wantInUse(until)
	c.clusterAPI()
	mustNotContain(c.t, c.mustRun("status"), "Certificates")
	mustNotContain(c.t, c.mustRun("certs", "demo"), "ended", "CertificatesExp")
}

func (c certsWorld) wantInUse(until string) {
	c.t.Helper()
	if stale := c.nodes.Stale(); len(stale) > 0 {
		c.t.Errorf("components with old certificates: %v", stale)
	}
	for _, name := range controlPlaneNodes {
		if got := c.recorded(name); !strings.HasPrefix(got, until) {
			c.t.Errorf("Cluster API has %s for %s, want %s", got, name, until)
		}
	}
}

func TestCertsRenew(t *testing.T) {
	t.Parallel()
	c := newCertsWorld(t)
	mustNotContain(t, c.mustRun("status"), "Certificates")
	// The load balancer is no node.
	mustContain(t, squeeze(c.mustRun("certs")), "demo  demo-a  apiserver  2027-01-01T00:00:00Z  365d",
		"demo  demo-e  admin.conf  2027-01-01T00:00:00Z", "demo  demo-b  kubelet-client  2027", "demo  demo-c  etcd-ca  2035")

	c.pass(oneYear - 20*day)
	c.setKubeconfig()
	const trouble = "cluster demo: CertificatesExpiring: certificate admin.conf of node demo-a ends on 2027-01-01"
	for _, args := range [][]string{{"status"}, {"status", "demo"}, {"certs"}} {
		mustContain(t, c.mustRun(args...), trouble, "remedy: capcon certs renew demo")
	}
	mustContain(t, c.mustRun("status", "-o", "json"), `"reason": "CertificatesExpiring"`)

	out := c.mustRun("certs", "renew", "demo")
	mustContain(t, out, "demo-a: components are ready", "The certificates of cluster demo end on 2027-12-12.", "Updated "+c.directory().KubeconfigPath("demo"))
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
	saved := must.Get(os.ReadFile(c.directory().KubeconfigPath("demo")))(t)
	if diff := cmp.Diff(c.kubeconfig(), string(saved)); diff != "" {
		t.Errorf("saved kubeconfig (-want +got):\n%s", diff)
	}

	mustNotContain(t, c.mustRun("certs", "renew", "demo"), "Updated")
	if got := len(c.nodes.Commands("demo-a")); got != 5 {
		t.Errorf("A second renewal ran %d commands more", got-5)
	}
	c.pass(day)
	mustContain(t, c.mustRun("certs", "renew", "demo", "--force"), "end on 2027-12-13")
	c.wantRenewed("2027-12-13T")
}

// TestCertsRenewEnded: nothing that needs the API server works, kubelets do not start, and etcd
// has no quorum before most of its members have other certificates.
func TestCertsRenewEnded(t *testing.T) {
	t.Parallel()
	c := newCertsWorld(t)
	c.pass(oneYear + 3*day)
	c.setKubeconfig()
	c.nodes.Crash("demo-c")
	mustContain(t, c.mustRun("status"), "cluster demo: CertificatesExpired: certificate admin.conf of node demo-a ended on 2027-01-01",
		"remedy: capcon certs renew demo")
	mustContain(t, squeeze(c.mustRun("certs")), "demo-b  kubelet-client  2027-01-01T00:00:00Z  ended")
	mustContain(t, c.mustRun("certs", "renew", "demo"), "demo-b kubelet: certificate renewed", "end on 2028-01-04")
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
		c.pass(oneYear + day)
		c.setKubeconfig()
		calls := 0
		c.engine.AfterCall(func(call simulated.Call) error {
			if call.Method == "Exec" && slices.Contains(changes, call.Command[0]+" "+call.Command[1]) {
				calls++
			}
			if calls >= n { // The process is dead: it makes no further call.
				return errors.New("interrupted")
			}
			return nil
		})
		code, _, _ := c.run("certs", "renew", "demo")
		c.engine.ResetHooks()
		c.engine.HandleExec(c.nodes.Exec)
		c.mustRun("certs", "renew", "demo")
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
	c.pass(oneYear - day)
	c.setKubeconfig()
	ready := c.plane.state
	c.plane.state = plane.State{ID: "plane", Exists: true, Detail: "is starting"}
	_, out, _ := c.run("status")
	mustContain(t, out, "cluster demo: CertificatesExpiring: certificate admin.conf of node demo-a ends on 2027-01-01")
	mustContain(t, squeeze(c.mustRun("certs")), "demo  demo-a  apiserver  2027")
	mustContain(t, c.mustRun("certs", "renew", "demo"), "end on 2027-12-31", "the management plane is not ready", "run the command again")
	if stale := c.nodes.Stale(); len(stale) > 0 {
		t.Errorf("components with old certificates: %v", stale)
	}
	c.plane.state = ready
	// The nodes are known to have others than Cluster API reports.
	mustContain(t, c.mustRun("status"), "the certificate in "+c.directory().KubeconfigPath("demo")+" ends on 2027-01-01")
	c.mustRun("certs", "renew", "demo")
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
					must.Succeed(t, c.engine.StopContainer(t.Context(), node, 0))
				}
			}, []string{`no running control plane node; start it with "capcon start demo"`},
		},
		"ExternalAuthority": {
			"kubeadm skips such certificates without an error", func(t *testing.T, c certsWorld) {
				must.Succeed(t, c.engine.WriteFile("demo-c", "/etc/kubernetes/pki/ca.key", nil))
			}, []string{"node demo-c does not have the key of the authority that signed admin.conf", "external authority"},
		},
		"ExternalFrontProxyAuthority": {
			"also one of the others", func(t *testing.T, c certsWorld) {
				must.Succeed(t, c.engine.WriteFile("demo-c", "/etc/kubernetes/pki/front-proxy-ca.key", nil))
			}, []string{"front-proxy-client"},
		},
		"OwnBootstrap": {
			"it is not known what its control plane needs", func(t *testing.T, c certsWorld) {
				machine := &clusterv1.Machine{}
				must.Succeed(t, c.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo-a"}, machine))
				machine.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: ptr.To("mine")}
				must.Succeed(t, c.client.Update(t.Context(), machine))
			}, []string{"the bootstrap data of Machine demo-a is of a Secret of your own and not of KubeadmConfig"},
		},
		"NoCertificates": {
			"another distribution has them elsewhere", func(t *testing.T, c certsWorld) {
				c.engine.OnCall(func(call simulated.Call) error {
					if call.Method == "Download" {
						return engine.ErrNotFound
					}
					return nil
				})
			}, []string{"node demo-a has no certificates of kubeadm"},
		},
		"NoKubeadm": {
			"the program is looked for before a file is changed", func(t *testing.T, c certsWorld) {
				c.engine.HandleExec(func(string, engine.Command) (engine.Output, error) {
					return engine.Output{Stderr: []byte("kubeadm: not found")}, &engine.ExitError{Code: 127}
				})
			}, []string{"run kubeadm in node demo-a", "kubeadm: not found"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCertsWorld(t)
			c.pass(oneYear - day)
			tc.before(t, c)
			code, out, errs := c.run("certs", "renew", "demo")
			if code != 1 {
				t.Errorf("%s: code %d: %s", tc.reason, code, out)
			}
			mustContain(t, errs, tc.errs...)
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
	c.pass(oneYear - day)
	c.setKubeconfig()
	must.Succeed(t, c.engine.StopContainer(t.Context(), "demo-c", 0))
	code, out, errs := c.run("certs", "renew", "demo")
	if code != 1 {
		t.Errorf("code %d: %s", code, out)
	}
	mustContain(t, errs, "certificates not renewed in nodes that are not running: demo-c; start them, and run the command again")
	mustContain(t, c.recorded("demo-a"), "2027-12-31T")
	must.Succeed(t, c.engine.StartContainer(t.Context(), "demo-c"))
	c.mustRun("certs", "renew", "demo")
	c.wantRenewed("2027-12-31T")
}

// TestCertsRenewTimesOut: the message says how far it is.
func TestCertsRenewTimesOut(t *testing.T) {
	t.Parallel()
	c := newCertsWorld(t)
	c.pass(oneYear - day)
	ctx, cancel := context.WithCancel(t.Context())
	c.controllers = cancel
	code, _, errs := c.runIn(ctx, "certs", "renew", "demo")
	if code != exitInterrupted {
		t.Errorf("code %d: %s", code, errs)
	}
	mustContain(t, errs, "demo-a: restarting etcd")
}
