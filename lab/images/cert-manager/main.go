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

// Command cert-manager is cert-manager's controller, webhook and CA injector,
// whose own programs are not in its module. The path of this module lies below
// cert-manager's, whose internal packages they are made of.
//
//	cert-manager controller|webhook|cainjector [flags]
//
// It has the flags that cert-manager's Helm chart sets. Certificates come from
// self-signed and CA issuers; the controllers for ACME, Vault and Venafi bring
// along the client libraries of clouds, most of the build. No metrics are served.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cert-manager/cert-manager/internal/kube"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
)

func main() {
	err := run(ctrl.SetupSignalHandler(), os.Args[1:])
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

// command is one of the programs: its flags, and what runs after they are parsed.
type command struct {
	flags   *pflag.FlagSet
	logging *logsapi.LoggingConfiguration
	run     func(ctx context.Context) error
}

func newCommand(name string) (*command, error) {
	switch name {
	case "controller":
		return newController(), nil
	case "webhook":
		return newWebhook()
	case "cainjector":
		return newCAInjector(), nil
	default:
		return nil, fmt.Errorf("no program %q: there are controller, webhook and cainjector", name)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		return errors.New("name a program: controller, webhook or cainjector")
	}
	name := arguments[0]
	c, err := newCommand(name)
	if err != nil {
		return err
	}
	if err := c.flags.Parse(arguments[1:]); err != nil {
		return fmt.Errorf("parse the flags of %s: %w", name, err)
	}
	logf.InitLogs()
	defer logf.FlushLogs()
	if err := logf.ValidateAndApply(c.logging); err != nil {
		return fmt.Errorf("set up logging: %w", err)
	}
	log := logf.Log.WithName(name)
	ctrl.SetLogger(log)
	return c.run(logf.NewContext(ctx, log))
}

// elected is a program of whose replicas one works at a time.
type elected struct {
	// component ends the name that the API server knows the program by; lease
	// is the one that the chart's roles allow.
	component, lease string

	kubeconfig, namespace string
}

// command has the flags that all elected programs have.
func (e *elected) command() *command {
	c := &command{
		flags:   pflag.NewFlagSet(e.component, pflag.ContinueOnError),
		logging: logsapi.NewLoggingConfiguration(),
	}
	logf.AddFlags(c.logging, c.flags)
	c.flags.StringVar(&e.kubeconfig, "kubeconfig", "", "path of a kubeconfig; without one the Pod's ServiceAccount is used")
	c.flags.StringVar(&e.namespace, "leader-election-namespace", "kube-system", "namespace of the Lease for leader election")
	return c
}

// manager runs what is added to it while this program holds the lease.
func (e *elected) manager(options ctrl.Options) (ctrl.Manager, error) {
	config, err := kube.BuildClientConfig("", e.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	options.LeaderElection, options.LeaderElectionReleaseOnCancel = true, true
	options.LeaderElectionID, options.LeaderElectionNamespace = e.lease, e.namespace
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	mgr, err := ctrl.NewManager(util.RestConfigWithUserAgent(config, e.component), options)
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	return mgr, nil
}
