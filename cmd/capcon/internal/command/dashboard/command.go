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

// Package dashboard is the command that serves a page which shows clusters as they change. It only reads.
//
// What the page shows is what "capcon status" and traces compute; this package asks them, and pushes the
// result to browsers that have the token.
package dashboard

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// host that the page is served on. Other hosts have no access.
const host = "127.0.0.1"

// headerTimeout is generous for a browser on this host.
const headerTimeout = 10 * time.Second

// options of the command.
type options struct {
	// kubeconfig is the path of that of a management cluster; empty = the engine's management plane.
	kubeconfig string
	// port of 127.0.0.1; 0 = a free one.
	port uint16
}

// Command is capcon dashboard.
func Command(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve a page that shows clusters as they change",
		Long: "Serve a page on 127.0.0.1 that shows clusters as they change: conditions as a tree, containers, bootstrap steps and\n" +
			"Nodes of machines, load balancers with their backends, and what each waits for. The page only reads. It needs the\n" +
			"token in the link that is printed. The command runs until it is interrupted.",
		Example: "  capcon dashboard\n  capcon dashboard --port 8088\n  capcon dashboard --kubeconfig management.kubeconfig",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return run(command.Context(), a, options)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	command.Flags().StringVar(&options.kubeconfig, "kubeconfig", "",
		"kubeconfig `FILE` of a management cluster, of which the current context is used (default: the management plane of the engine)")
	command.Flags().Uint16Var(&options.port, "port", 0, "port of 127.0.0.1 for the page; 0 = a free one")
	return command
}

// run serves until ctx ends.
func run(ctx context.Context, a *session.App, options options) error {
	source, err := open(ctx, a, options.kubeconfig)
	if err != nil {
		return err
	}
	defer source.session.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(options.port))))
	if err != nil {
		return fmt.Errorf("serve the page: %w; choose another port with --port", err)
	}
	token, feed := rand.Text(), newFeed()
	server := &http.Server{
		Handler:           newHandler(listener.Addr().String(), token, feed),
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	a.Printf("Dashboard of the %s: http://%s/#%s\nPress Ctrl-C to stop.", source.name, listener.Addr(), token)
	observed := make(chan struct{})
	go func() {
		defer close(observed)
		feed.run(ctx, a.Clock, source)
	}()
	select {
	case err = <-ended:
		return fmt.Errorf("serve the page: %w", err)
	case <-observed: // ctx has ended.
	}
	return server.Close() //nolint:wrapcheck // Nothing is left to be done.
}

// open the source of the page: a kubeconfig, or the management plane of the engine.
func open(ctx context.Context, a *session.App, kubeconfig string) (*source, error) {
	if kubeconfig == "" {
		s, err := a.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return &source{session: s, name: s.ManagementCluster(), engine: s.Connected, steps: stepCache{}}, nil
	}
	if _, err := os.Stat(kubeconfig); err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	s, unavailable, err := a.ConnectManaged(ctx)
	if err != nil {
		return nil, err
	}
	engine := s.Connected
	if unavailable != nil {
		engine = "none: " + management.OneLine(unavailable.Error())
	}
	return &source{session: s, name: "management cluster of " + filepath.Base(kubeconfig), engine: engine, kubeconfig: kubeconfig, steps: stepCache{}}, nil
}
