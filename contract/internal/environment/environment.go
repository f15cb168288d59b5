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

// Package environment runs what a provider needs for its tests: etcd, kube-apiserver, Cluster API's
// core controllers and the provider's own manager.
package environment

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/capi-samples/cluster-api-provider-container/contract/internal/core"
	"github.com/capi-samples/cluster-api-provider-container/contract/internal/manifests"
)

const (
	// startTimeout of each part; a busy host needs some of it.
	startTimeout = 3 * time.Minute
	pollInterval = 50 * time.Millisecond
)

// Manager says to a provider's manager where it runs.
type Manager struct {
	Config *rest.Config
	// Kubeconfig is the file of a kubeconfig for Config.
	Kubeconfig string
	// WebhookHost and WebhookPort are where the API server calls webhooks, and WebhookCertDir has
	// tls.crt and tls.key for it.
	WebhookHost    string
	WebhookPort    int
	WebhookCertDir string
}

// Options of Start.
type Options struct {
	// Manifests of the provider: CRDs and webhook configurations; other objects are not installed.
	Manifests manifests.Manifests
	// Command, Environment: the provider's manager as a process.
	Command     []string
	Environment []string
	// Run is the provider's manager in this process, instead.
	Run func(context.Context, Manager) error
}

// Environment is what runs.
type Environment struct {
	Config *rest.Config

	directory string
	api       *envtest.Environment
	// cancel ends what runs in the background, with the cause of an end that was not asked for.
	cancel     context.CancelCauseFunc
	background sync.WaitGroup
}

// Start starts all. The context that it returns ends with ctx, and when one of the parts ends by
// itself, with the error as its cause. Stop stops what Start started, also if Start failed.
func Start(ctx context.Context, opts Options) (*Environment, context.Context, error) {
	e := &Environment{}
	ctx, e.cancel = context.WithCancelCause(ctx)
	if err := e.start(ctx, opts); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = errors.Join(err, cause)
		}
		return nil, nil, errors.Join(err, e.Stop())
	}
	return e, ctx, nil
}

func (e *Environment) start(ctx context.Context, opts Options) error {
	if err := e.startAPIServer(); err != nil {
		return err
	}
	directory, err := core.Manifests(ctx)
	if err != nil {
		return err
	}
	ofCore, err := manifests.Read(directory)
	if err != nil {
		return err
	}
	if err := e.startServed(ctx, ofCore, e.runCore); err != nil {
		return fmt.Errorf("start Cluster API: %w", err)
	}
	run := opts.Run
	if len(opts.Command) > 0 {
		run = func(ctx context.Context, m Manager) error {
			return process{command: opts.Command, environment: opts.Environment, variables: map[string]string{
				"KUBECONFIG": m.Kubeconfig, "WEBHOOK_PORT": strconv.Itoa(m.WebhookPort), "WEBHOOK_CERT_DIR": m.WebhookCertDir,
			}}.run(ctx)
		}
	}
	if err := e.startServed(ctx, opts.Manifests, run); err != nil {
		return fmt.Errorf("start the provider: %w", err)
	}
	return nil
}

// discardLogs of envtest and of certificate watchers, which use the logger of the process. A
// logger that is already set stays.
var discardLogs = sync.OnceFunc(func() { ctrl.SetLogger(logr.Discard()) }) //nolint:gochecknoglobals // A process has one logger.

func (e *Environment) startAPIServer() error {
	discardLogs()
	e.api = &envtest.Environment{ControlPlaneStartTimeout: startTimeout, ControlPlaneStopTimeout: startTimeout}
	// Without it the API server looks for the address of the default route, and a host that is
	// offline has none.
	e.api.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "127.0.0.1")
	var err error
	if e.Config, err = e.api.Start(); err != nil {
		return fmt.Errorf("start kube-apiserver and etcd, from KUBEBUILDER_ASSETS: %w", err)
	}
	e.Config.QPS = -1
	if e.directory, err = os.MkdirTemp("", "contract-"); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	if err := os.WriteFile(e.kubeconfig(), e.api.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

func (e *Environment) kubeconfig() string { return filepath.Join(e.directory, "kubeconfig") }

// startServed installs CRDs, starts a manager and, once it serves webhooks, lets the API server call
// them.
func (e *Environment) startServed(ctx context.Context, installed manifests.Manifests, run func(context.Context, Manager) error) error {
	local := envtest.WebhookInstallOptions{LocalServingHost: "127.0.0.1"}
	if err := local.PrepWithoutInstalling(); err != nil {
		return fmt.Errorf("prepare webhooks: %w", err)
	}
	server := manifests.Server{Host: local.LocalServingHost, Port: local.LocalServingPort, CABundle: local.LocalServingCAData}
	crds, err := installed.CRDs(server)
	if err != nil {
		return err
	}
	if err := manifests.InstallCRDs(e.Config, crds); err != nil {
		return err
	}
	m := Manager{
		Config: rest.CopyConfig(e.Config), Kubeconfig: e.kubeconfig(),
		WebhookHost: local.LocalServingHost, WebhookPort: local.LocalServingPort, WebhookCertDir: local.LocalServingCertDir,
	}
	e.background.Go(func() {
		if err := run(ctx, m); err != nil {
			e.cancel(err)
		}
		_ = local.Cleanup()
	})
	if !installed.NeedServer() {
		return nil
	}
	if err := awaitServer(ctx, server); err != nil {
		return err
	}
	api, err := client.New(e.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	return installed.InstallWebhooks(ctx, api, server)
}

// awaitServer waits until webhooks are served.
func awaitServer(ctx context.Context, server manifests.Server) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CABundle)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	address := net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
	last := errors.New("not tried")
	err := wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			last = err
			return false, nil //nolint:nilerr // The next try reports its own.
		}
		return true, connection.Close()
	})
	if err != nil {
		return fmt.Errorf("wait until webhooks are served on %s: %w: %w", address, err, last)
	}
	return nil
}

func (e *Environment) runCore(ctx context.Context, m Manager) error {
	mgr, err := core.New(ctx, m.Config, core.Options{
		WebhookHost: m.WebhookHost, WebhookPort: m.WebhookPort, WebhookCertDir: m.WebhookCertDir, Logger: logr.Discard(),
	})
	if err != nil {
		return fmt.Errorf("set up Cluster API: %w", err)
	}
	return mgr.Start(ctx)
}

// Stop stops all, the managers first.
func (e *Environment) Stop() error {
	e.cancel(nil)
	e.background.Wait()
	var errs []error
	if e.api != nil && e.Config != nil {
		errs = append(errs, e.api.Stop())
	}
	if e.directory != "" {
		errs = append(errs, os.RemoveAll(e.directory))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop the API server: %w", err)
	}
	return nil
}
