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

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/readiness"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/supervise"
)

// The bounds of how often certificates are looked at: often enough for the
// shortest that makes sense in a test, rarely enough to cost nothing.
const (
	shortestRenewalCheck = 500 * time.Millisecond
	longestRenewalCheck  = time.Hour
	// renewalChecks in the last third of a certificate's life.
	renewalChecks = 10
)

// Run runs the plane until ctx ends, then stops its processes in reverse order
// and returns nil. It returns an error when the plane does not come up. The
// state directory in use: supervise.ErrLocked. The engine's socket replaced:
// connect.ErrSocketReplaced. A plane that is retired, also by an earlier daemon, runs
// nothing and waits for ctx to end.
func Run(ctx context.Context, opts Options) (err error) {
	start := time.Now()
	if err := findPrograms(opts); err != nil {
		return err
	}
	if err := ensurePrivateDir(opts.StateDir); err != nil {
		return err
	}
	lock, err := supervise.AcquireLock(layout(opts.StateDir).lock())
	if err != nil {
		return fmt.Errorf("use state directory: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	if retired, err := plane.IsRetired(opts.StateDir); err != nil {
		return err
	} else if retired {
		opts.Log.Info("Management plane is retired")
		<-ctx.Done()
		return nil
	}

	id, err := newIdentity(opts)
	if err != nil {
		return err
	}
	var background sync.WaitGroup
	defer background.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	background.Go(func() { id.keepRenewing(ctx) })
	background.Go(func() { watchSocket(ctx, cancel) })
	return id.run(ctx, start)
}

// run runs the plane's processes until ctx ends.
func (id *identity) run(ctx context.Context, start time.Time) error {
	control, err := id.listenControl(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = control.Close() }() // closed already once it was served
	supervisor := supervise.New(supervise.Options{Output: id.opts.Output, Log: id.opts.Log, LivenessPeriod: id.opts.LivenessPeriod})
	defer supervisor.Stop()
	if err := id.start(ctx, supervisor); err != nil {
		if ctx.Err() != nil {
			id.opts.Log.Info("Stopping management plane before it is ready")
			return replacedSocket(ctx)
		}
		return err
	}
	id.opts.Log.Info("Management plane is ready", "after", time.Since(start).Round(time.Millisecond).String())
	if err := id.serveControl(ctx, supervisor, control); err != nil {
		return err
	}
	id.opts.Log.Info("Stopping management plane")
	supervisor.Stop()
	// Without its process a container would be restarted by the engine.
	<-ctx.Done()
	return replacedSocket(ctx)
}

// findPrograms checks that there is something to run: a program that is not
// there does not come by trying again.
func findPrograms(opts Options) error {
	programs := slices.Clone(opts.Manager[:min(1, len(opts.Manager))])
	for _, name := range []string{processEtcd, processAPIServer, processControllerManager} {
		programs = append(programs, filepath.Join(opts.Binaries, name))
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("find executables of the management plane: %w", err)
		}
	}
	return nil
}

// start starts the processes and returns when all are ready. kube-apiserver waits for etcd,
// and the manager for the default roles, by itself: starting one after the other takes longer.
func (id *identity) start(ctx context.Context, supervisor *supervise.Supervisor) error {
	if err := supervisor.Start(ctx, id.etcdProcess(), id.apiServerProcess()); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", id.files.kubeconfig(userDaemon))
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	if err := id.install(ctx, config); err != nil {
		return err
	}
	if err := id.publishClusterInfo(ctx, config); err != nil {
		return err
	}
	together, ctx := errgroup.WithContext(ctx)
	together.Go(func() error { return supervisor.Start(ctx, id.managerProcess()) })
	together.Go(func() error {
		// kube-controller-manager waits for this itself, but exits after ten seconds.
		err := supervisor.Await(ctx, processAPIServer, id.apiReady)
		if err != nil {
			return err
		}
		return supervisor.Start(ctx, id.controllerManagerProcess())
	})
	return together.Wait() //nolint:wrapcheck // It is the supervisor's.
}

// install brings the API up to what the manager serves.
func (id *identity) install(ctx context.Context, config *rest.Config) error {
	start := time.Now()
	// The lease of the manager's last life would make the plane look ready
	// before the webhooks answer.
	if err := forgetReadiness(ctx, config); err != nil {
		return err
	}
	objects, err := manifests.Objects(manifests.Server{URL: id.webhookURL(), CABundle: id.api.CertificatePEM()}, id.opts.Manifests...)
	if err != nil {
		return err
	}
	if err := manifests.Install(ctx, config, objects); err != nil {
		return err
	}
	id.opts.Log.Info("Installed manifests", "objects", len(objects), "after", time.Since(start).Round(time.Millisecond).String())
	return nil
}

func forgetReadiness(ctx context.Context, config *rest.Config) error {
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	err = client.Leases(readiness.LeaseNamespace).Delete(ctx, readiness.LeaseName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Lease of the previous manager: %w", err)
	}
	return nil
}

// keepRenewing renews certificates until ctx ends. Every component reads its
// files again by itself.
func (id *identity) keepRenewing(ctx context.Context) {
	interval := min(max(id.opts.Lifetime/3/renewalChecks, shortestRenewalCheck), longestRenewalCheck)
	wait.UntilWithContext(ctx, func(context.Context) {
		renewed, err := id.renew(time.Now())
		if err != nil {
			id.opts.Log.Error(err, "Failed to renew certificates")
		}
		if len(renewed) > 0 {
			id.opts.Log.Info("Renewed certificates", "certificates", renewed)
		}
	}, interval)
}
