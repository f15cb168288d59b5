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

// Capcon makes Kubernetes clusters of containers with Cluster API.
package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/term"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/hostnet"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

func main() {
	ctx, stop := interruptible()
	// What the libraries log is for operators of controllers. What a user
	// has to know is in errors and in the progress.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())

	code := command.Run(ctx, os.Args[1:], session.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, session.Deps{
		Program: os.Args[0],
		ConnectTo: func(ctx context.Context, name string) (engine.Engine, error) {
			return bounded(ctx, connect.Options{Engine: name}, metered.Options{})
		},
		OpenEngine: connect.Remote,
		NewPlane:   func(e engine.Engine, options plane.Options) session.Plane { return plane.New(e, options) },
		NewClient:  management.Connect,
		Getenv:     os.Getenv,
		LookPath:   exec.LookPath,
		Systemd:    systemd,
		HostNetworks: func() []input.UsedRange {
			return hostnet.Used(os.DirFS("/"), net.InterfaceAddrs)
		},
		PortInUse: hostnet.InUse,
		Size:      size,
		Interactive: func() bool {
			return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) //nolint:gosec // file descriptors are small
		},
		RawTerminal: func() (func(), error) {
			stdin := int(os.Stdin.Fd()) //nolint:gosec // a file descriptor is small
			before, err := term.MakeRaw(stdin)
			return func() { _ = term.Restore(stdin, before) }, err
		},
		Clock: session.Clock{Now: time.Now, After: time.After},
	})
	stop()
	os.Exit(code)
}

// interruptible is canceled by the first signal, which ends the command in order. A second
// signal ends the process: what the command waits for may not end.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx, cancel
}

// bounded connects to an engine whose calls have the limits that those of the
// manager have: one that stopped answering must not hang a command. What is
// measured of the calls is not read.
func bounded(ctx context.Context, where connect.Options, limits metered.Options) (engine.Engine, error) {
	found, err := connect.Connect(ctx, where)
	if err != nil {
		return nil, err
	}
	limited, err := metered.New(found, prometheus.NewRegistry(), limits)
	if err != nil {
		return nil, errors.Join(err, found.Close())
	}
	return limited, nil
}

// size of the terminal that a stream is; zero where it is none.
func size(stream io.Writer) (columns, rows int) {
	file, ok := stream.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(file.Fd())) //nolint:gosec // a file descriptor is small
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// systemd is as sd_booted(3) has it.
func systemd(ctx context.Context, name string, args ...string) string {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return ""
	}
	// Some answers come with an exit code, such as "disabled".
	printed, _ := exec.CommandContext(ctx, name, args...).Output()
	return strings.TrimSpace(string(printed))
}
