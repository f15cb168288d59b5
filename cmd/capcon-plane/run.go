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
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capi-samples/cluster-api-provider-container/config/crd"
	"github.com/capi-samples/cluster-api-provider-container/config/webhook"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/daemon"
)

// runDaemon runs the plane until the process is terminated. Arguments after
// "--" go to the manager.
func runDaemon(args []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find executable: %w", err)
	}
	var managerProgram string
	var managerArgs []string
	if at := slices.Index(args, "--"); at >= 0 {
		args, managerArgs = args[:at], args[at+1:]
	}
	opts := daemon.Options{
		Manager:   append([]string{program, "manager"}, managerArgs...),
		Ports:     daemon.DefaultPorts(),
		Manifests: []fs.FS{crd.FS, webhook.FS},
		Output:    os.Stderr,
	}
	ports := &opts.Ports
	flags := pflag.NewFlagSet("capcon-plane run", pflag.ContinueOnError)
	flags.StringVar(&opts.StateDir, "state-dir", plane.StateDir, "directory of everything that outlives the container")
	flags.StringVar(&opts.Binaries, "binaries", "/usr/local/bin", "directory of etcd, kube-apiserver and kube-controller-manager")
	flags.StringVar(&opts.APIAddress, "api-address", "0.0.0.0", "address the API server listens on")
	flags.IntVar(&ports.API, "api-port", ports.API, "port the API server listens on")
	flags.IntVar(&ports.EtcdClient, "etcd-client-port", ports.EtcdClient, "port of etcd for the API server, on 127.0.0.1")
	flags.IntVar(&ports.EtcdPeer, "etcd-peer-port", ports.EtcdPeer, "port of etcd for its peers, on 127.0.0.1")
	flags.IntVar(&ports.ControllerManager, "controller-manager-port", ports.ControllerManager, "port of kube-controller-manager, on 127.0.0.1")
	flags.IntVar(&ports.Webhook, "webhook-port", ports.Webhook, "port of the webhooks, on 127.0.0.1")
	flags.IntVar(&ports.Health, "health-port", ports.Health, "port of the manager's health, on 127.0.0.1")
	flags.StringVar(&opts.PublicURL, "public-url", "", "server in the kubeconfig for the host (default https://127.0.0.1:<api-port>)")
	flags.DurationVar(&opts.LivenessPeriod, "liveness-period", 0, "time between two liveness probes of a process, and the timeout of each (default 15s)")
	flags.StringVar(&managerProgram, "manager", "", "program that is the manager instead of this one, with the same flags")
	flags.DurationVar(&opts.Lifetime, "certificate-lifetime", daemon.DefaultLifetime, "lifetime of certificates, which are renewed in its last third")
	flags.StringVar(&opts.FeatureGates, "feature-gates", "", "feature gates of Cluster API, such as A=true,B=false (default: those of the last start that had some)")
	flags.StringVar(&opts.AllowedEngines, endpoint.AllowedFlag, "",
		"endpoints that ContainerEngines may have, or "+plane.NoEngines+" (default: those of the last start that had some)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if managerProgram != "" {
		opts.Manager = append([]string{managerProgram}, managerArgs...)
	}
	opts.Log = ctrl.Log.WithName("plane")
	return daemon.Run(ctrl.SetupSignalHandler(), opts)
}
