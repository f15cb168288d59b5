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

// Package process runs a management plane whose clusters are in memory, as processes of this host.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/readiness"
)

const (
	// APIAddress of the plane's API server. This and the other ports are none that another plane of
	// this host has.
	APIAddress = "127.0.0.1:16443"
	// MetricsAddress of the plane's manager.
	MetricsAddress = "127.0.0.1:18080"
)

// readyTimeout is for a busy host.
const readyTimeout = 10 * time.Minute

// Options of a Plane.
type Options struct {
	// Program is capcon-plane, and Manager is capcon-memory.
	Program, Manager string
	// Binaries is the directory of etcd, kube-apiserver and kube-controller-manager.
	Binaries string
	// Directory of its state, which is created.
	Directory string
	// Flags of the manager.
	Flags []string
}

// Plane is a management plane that is ready.
type Plane struct {
	// PID of its daemon, the parent of the others.
	PID int
	// Kubeconfig is a path, and Log another one.
	Kubeconfig, Log string

	command *exec.Cmd
	// ended is closed when its daemon has, with the error err.
	ended chan struct{}
	err   error
}

var (
	errEnded    = errors.New("the management plane has ended")
	errNotReady = fmt.Errorf("the management plane is not ready after %s", readyTimeout)
)

// Start a plane, and wait until it is ready. It ends with ctx, or Stop.
func Start(ctx context.Context, options Options) (*Plane, error) {
	p := &Plane{
		Kubeconfig: filepath.Join(options.Directory, plane.AdminKubeconfig), Log: options.Directory + ".log", ended: make(chan struct{}),
	}
	if err := p.start(ctx, options); err != nil {
		return nil, fmt.Errorf("start management plane: %w", err)
	}
	if err := p.wait(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; see %s", err, p.Log), p.Stop())
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context, options Options) error {
	log, err := os.Create(p.Log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	arguments := append([]string{
		"run", "--state-dir=" + options.Directory, "--binaries=" + options.Binaries, "--manager=" + options.Manager,
		"--api-address=127.0.0.1", "--api-port=16443", "--etcd-client-port=12379", "--etcd-peer-port=12380",
		"--controller-manager-port=20257", "--webhook-port=19443", "--health-port=19440",
		"--", "--metrics-address=" + MetricsAddress,
	}, options.Flags...)
	p.command = exec.CommandContext(ctx, options.Program, arguments...) //nolint:gosec // The caller's.
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Cancel = func() error { return p.command.Process.Signal(syscall.SIGTERM) }
	if err := p.command.Start(); err != nil {
		return err
	}
	p.PID = p.command.Process.Pid
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	return nil
}

// wait until the plane is ready, or ends.
func (p *Plane) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNotReady)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- awaitReady(ctx, p.Kubeconfig) }()
	select {
	case err := <-ready:
		return err
	case <-p.ended:
		return fmt.Errorf("%w: %w", errEnded, p.err)
	}
}

func awaitReady(ctx context.Context, path string) error {
	const interval = 100 * time.Millisecond
	var kubeconfig []byte
	err := wait.PollUntilContextCancel(ctx, interval, true, func(context.Context) (bool, error) {
		var err error
		kubeconfig, err = os.ReadFile(path)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", path, context.Cause(ctx))
	}
	return readiness.Wait(ctx, kubeconfig, func(error) {}) //nolint:wrapcheck // It says what is not ready.
}

// Stop the plane, and wait for its end. It may have ended before.
func (p *Plane) Stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop management plane: %w", err)
	}
	// It ends with the error of a signal.
	<-p.ended
	return nil
}
