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

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	startTimeout = 2 * time.Minute
	// The ports of the first manager's webhooks, health and metrics; each
	// manager takes the next ones.
	webhookPort, healthPort, metricsPort = 29443, 29540, 29640
)

// management is an API server with Cluster API's managers and one provider's,
// all of them processes of this machine.
type management struct {
	provider    provider
	logs        string
	environment *envtest.Environment
	config      *rest.Config
	api         client.Client
	watch       *observer
	journal     *journal
	engine      *proxy
	processes   []*process
	// manager is the provider's process among them; metrics its address.
	manager *process
	metrics string
	cancel  context.CancelFunc
}

// manager is one of the managers: where its manifests are, and its program.
type manager struct {
	name, config, path string
	labels             map[string]string
	webhooks           bool
	// role is the ClusterRole that the manager runs with; empty: it may do all.
	role string
	env  []string
}

// startManagement starts everything of one provider.
func (b *bench) startManagement(ctx context.Context, p provider) (_ *management, err error) {
	m := &management{provider: p, logs: filepath.Join(b.artifacts, "logs", p.key)}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.stop())
		}
	}()
	if err := os.MkdirAll(m.logs, 0o755); err != nil {
		return nil, fmt.Errorf("make directory of logs: %w", err)
	}
	if m.engine, err = newProxy(filepath.Join(b.work, p.key+".sock"), b.engineSocket); err != nil {
		return nil, err
	}
	if err := m.startAPIServer(b.programs); err != nil {
		return nil, err
	}
	if err := m.startManagers(ctx, b, append(b.stock(), p.manager(b, m.engine.socket))); err != nil {
		return nil, err
	}
	watching, cancel := context.WithCancel(ctx)
	m.cancel = cancel
	if m.journal, err = newJournal(filepath.Join(m.logs, "journal.txt")); err != nil {
		return nil, err
	}
	m.watch, err = newObserver(watching, m.config, m.journal, managementKinds(p)...)
	return m, err
}

func (m *management) startAPIServer(programs string) error {
	m.environment = &envtest.Environment{
		ControlPlaneStartTimeout: startTimeout, ControlPlaneStopTimeout: stopGrace,
		ControlPlane: envtest.ControlPlane{
			Etcd:      &envtest.Etcd{Path: filepath.Join(programs, "etcd")},
			APIServer: &envtest.APIServer{Path: filepath.Join(programs, "kube-apiserver")},
		},
	}
	config, err := m.environment.Start()
	if err != nil {
		return fmt.Errorf("start the API server: %w", err)
	}
	m.config = config
	if m.api, err = client.New(config, client.Options{Scheme: newScheme()}); err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	admin, err := m.kubeconfig("controllers", "system:masters")
	if err != nil {
		return err
	}
	// What every real cluster has: without it, objects whose owner is gone stay.
	return m.run(program{name: "kube-controller-manager", path: filepath.Join(programs, "kube-controller-manager"), args: []string{
		"--kubeconfig=" + admin, "--controllers=garbage-collector-controller,namespace-controller",
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=29257", "--cert-dir=" + m.logs,
		"--authentication-skip-lookup=true",
	}})
}

// startManagers installs the manifests of all managers, starts them and waits
// until they are ready.
func (m *management) startManagers(ctx context.Context, b *bench, managers []manager) error {
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return fmt.Errorf("make the webhooks' certificate: %w", err)
	}
	certificates := filepath.Join(b.work, "webhooks")
	if err := errors.Join(os.MkdirAll(certificates, 0o700),
		os.WriteFile(filepath.Join(certificates, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(certificates, "tls.key"), key, 0o600)); err != nil {
		return fmt.Errorf("write the webhooks' certificate: %w", err)
	}
	var addresses []string
	for i, one := range managers {
		health := fmt.Sprintf("127.0.0.1:%d", healthPort+i)
		addresses = append(addresses, health)
		m.metrics = fmt.Sprintf("127.0.0.1:%d", metricsPort+i)
		manifests := manifests{name: one.name, config: one.config, labels: one.labels, caBundle: certificate}
		if one.webhooks {
			manifests.webhooks = fmt.Sprintf("https://127.0.0.1:%d", webhookPort+i)
		}
		if err := manifests.install(ctx, m.api); err != nil {
			return err
		}
		config, err := m.identity(ctx, manifests, one)
		if err != nil {
			return err
		}
		args, err := b.managerArguments(one)
		if err != nil {
			return err
		}
		if err := m.run(program{
			name: one.name, path: one.path,
			args: append(args,
				"--leader-elect=false",
				"--health-addr="+health,
				"--diagnostics-address="+m.metrics, "--insecure-diagnostics=true",
				fmt.Sprintf("--webhook-port=%d", webhookPort+i), "--webhook-cert-dir="+certificates),
			env: append([]string{
				"KUBECONFIG=" + config, "POD_NAMESPACE=default", "POD_NAME=" + one.name, "POD_UID=" + one.name, "POD_IP=127.0.0.1",
			}, one.env...),
		}); err != nil {
			return err
		}
		m.manager = m.processes[len(m.processes)-1]
	}
	for _, address := range addresses {
		if err := m.awaitReady(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

// identity returns a kubeconfig for a manager, of a user with the manager's own
// role where it has one.
func (m *management) identity(ctx context.Context, manifests manifests, one manager) (string, error) {
	if one.role == "" {
		return m.kubeconfig(one.name, "system:masters")
	}
	if err := m.api.Create(ctx, manifests.binding(one.role, one.name)); err != nil {
		return "", fmt.Errorf("bind role of %s: %w", one.name, err)
	}
	return m.kubeconfig(one.name)
}

func (m *management) kubeconfig(name string, groups ...string) (string, error) {
	user, err := m.environment.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return "", fmt.Errorf("add user %s: %w", name, err)
	}
	content, err := user.KubeConfig()
	if err != nil {
		return "", fmt.Errorf("make kubeconfig of %s: %w", name, err)
	}
	path := filepath.Join(m.logs, name+".kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return path, nil
}

func (m *management) run(p program) error {
	running, err := start(p, m.logs)
	if err != nil {
		return err
	}
	m.processes = append(m.processes, running)
	return nil
}

// awaitReady waits until a manager says that it is ready.
func (m *management) awaitReady(ctx context.Context, address string) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		for _, p := range m.processes {
			select {
			case <-p.ended:
				return false, fmt.Errorf("%s ended (%w); its log is in %s", p.name, p.err, m.logs)
			default:
			}
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for the manager at %s: %w", address, err)
	}
	return nil
}

// prepare makes what the clusters share.
func (m *management) prepare(ctx context.Context) error {
	template, err := haproxyTemplate()
	if err != nil {
		return err
	}
	if err := m.api.Create(ctx, template); err != nil {
		return fmt.Errorf("create haproxy template: %w", err)
	}
	return nil
}

// stop ends everything, the managers before the API server.
func (m *management) stop() error {
	var errs []error
	if m.cancel != nil {
		m.cancel()
	}
	for i := len(m.processes) - 1; i >= 0; i-- {
		errs = append(errs, m.processes[i].stop())
	}
	if m.config != nil {
		errs = append(errs, m.environment.Stop())
	}
	if m.engine != nil {
		errs = append(errs, m.engine.close())
	}
	if m.journal != nil {
		errs = append(errs, m.journal.close())
	}
	return errors.Join(errs...)
}
