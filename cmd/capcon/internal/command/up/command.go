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

// Package up is the command that creates clusters and updates them.
package up

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/clusterfile"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/trace"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Command is capcon up.
func Command(a *session.App) *cobra.Command {
	var request input.Request
	var kubeconfig session.UserKubeconfig
	var controlPlanes, workers int
	var path string
	var origins input.Origins
	command := &cobra.Command{
		Use: "up [NAME]", SuggestFor: []string{"create", "apply"},
		Short: "Create a cluster, or update an existing one",
		Long: "Create a cluster and wait until all its Nodes are ready. Run the command again to resume an\n" +
			"interrupted creation, or to update an existing cluster to the given flags; flags that are not set\n" +
			"change nothing. A plan is printed before an existing cluster is changed. If it deletes Machines, or replaces\n" +
			"Machines with PersistentVolumes, it has to be confirmed: on a terminal, or with --yes. Without consent nothing\n" +
			"is changed, and the exit code is 3. The context capcon-NAME is merged into the kubeconfig of kubectl.\n\n" +
			"With --file, the cluster is described by a Cluster manifest or a configuration file of kind; see\n" +
			"docs/how-to/kind-config.md. Other flags override it.",
		Example: "  capcon up demo\n  capcon up demo --control-planes 3 --workers 2\n  capcon up -f kind.yaml",
		Args:    cobra.MaximumNArgs(1),
		PreRunE: func(command *cobra.Command, args []string) error {
			request.Name = cmp.Or(args...)
			if command.Flags().Changed("control-planes") {
				request.ControlPlanes = &controlPlanes
			}
			if command.Flags().Changed("workers") {
				request.Workers = &workers
			}
			request = request.Normalize()
			if path != "" {
				var err error
				if request, origins, err = readFile(a.In, path, request); err != nil {
					return err
				}
			}
			return origins.Locate(input.Refuse(slices.Concat(
				emptyFlags(command), output.CheckFormat(request.Output), checkOutput(command, request), input.Problems(request.Validate()),
			)...))
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			r := &run{session: s, request: request, kubeconfig: kubeconfig}
			if request.DryRun {
				return origins.Locate(r.dryRun(ctx))
			}
			return origins.Locate(trace.Run(ctx, s, request.Trace, request.Name, func(recording *trace.Recording) error {
				r.trace = recording
				return r.run(ctx)
			}))
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	flags := command.Flags()
	flags.StringVarP(&path, "file", "f", "", "file with a Cluster manifest or a configuration of kind; - is standard input")
	flags.IntVar(&controlPlanes, "control-planes", 1, "control-plane machines: an odd number, such as 1, 3 or 5")
	flags.IntVar(&workers, "workers", 1, "worker machines; with 0 in a new cluster, control planes take Pods")
	kubeconfig.AddFlags(command)
	addFlags(command, &request)
	return command
}

// addFlags that are fields of the request.
func addFlags(command *cobra.Command, request *input.Request) {
	flags := command.Flags()
	flags.StringVar(&request.KubernetesVersion, "kubernetes-version", "", "Kubernetes version (default \""+input.DefaultKubernetes()+"\")")
	flags.StringVar(&request.Image, "image", "", "node image (default: the one for the Kubernetes version)")
	flags.StringVar(&request.LoadBalancerImage, "load-balancer-image", "", "haproxy image")
	flags.StringVar(&request.PlaneImage, "plane-image", "", "image of the management plane; pulled by digest only (default: the one that is built from source)")
	flags.StringVar(&request.Registry, "registry", "", "registry HOST:PORT to take the public images of nodes and load balancers from")
	flags.StringVar(&request.CNI, "cni", "", "Pod network: auto (the node image's own), flannel, none (install one yourself) or a file (default \"auto\")")
	flags.StringVar(&request.EngineName, "engine-name", "",
		"ContainerEngine that a new cluster is created on, as \"capcon engine list\" has it (default: the engine of the management plane)")
	flags.StringSliceVar(&request.EngineNames, "engines", nil,
		"ContainerEngines that the machines of a new cluster are placed on, as a,b,c; --network is a macvlan network of all of them")
	flags.StringVar(&request.Network, "network", "", "network of the engine (default \""+network.DefaultName+"\", with IPv6 \""+network.IPv6Name+"\")")
	flags.StringVar(&request.IPFamily, "ip-family", "", "addresses of nodes, Pods and Services: ipv4, ipv6 or dual (default: the families of the ranges, or \"ipv4\")")
	flags.StringVar(&request.PodCIDR, "pod-cidr", "", "address range of Pods, or one of each family separated by a comma, the primary first (default \""+
		input.DefaultPodCIDR+"\" and \""+input.DefaultPodCIDRv6+"\" if they are free)")
	flags.StringVar(&request.ServiceCIDR, "service-cidr", "", "the same of Services (default \""+
		input.DefaultServiceCIDR+"\" and \""+input.DefaultServiceCIDRv6+"\" if they are free)")
	flags.StringVar(&request.CPUs, "cpus", "", "CPU limit of each node, such as 2; none removes it (default: those of the engine's host)")
	flags.StringVar(&request.Memory, "memory", "", "memory limit of each node, such as 4Gi; none removes it (default: that of the engine's host)")
	session.AddTimeout(command, &request.Timeout)
	flags.BoolVar(&request.Yes, "yes", false, "agree to the deletion of Machines and the loss of PersistentVolumes")
	flags.BoolVar(&request.DryRun, "dry-run", false, "print the plan only; nothing is written, started or pulled")
	flags.StringVarP(&request.Output, "output", "o", output.Text, "format of --dry-run: text or json")
	flags.StringVar(&request.Trace, "trace", "", trace.Usage)
}

// readFile completes a request by a file.
func readFile(stdin io.Reader, path string, request input.Request) (input.Request, input.Origins, error) {
	name := path
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		name = "standard input"
		read = func() ([]byte, error) { return io.ReadAll(stdin) }
	}
	text, err := read()
	if err != nil {
		return request, nil, input.Refuse(input.Problem{Field: "--file", Value: path, Reason: "cannot be read: " + err.Error(), Remedy: "use the path of a file, or -"})
	}
	return clusterfile.Read(name, text, request)
}

// checkOutput refuses a format without the plan that it is for.
func checkOutput(command *cobra.Command, request input.Request) []input.Problem {
	if request.DryRun || !command.Flags().Changed("output") {
		return nil
	}
	return []input.Problem{{Field: "--output", Value: request.Output, Reason: "is the format of --dry-run", Remedy: "add --dry-run, or omit it"}}
}

// emptyFlags refuses flags with an empty value, which would look as if they were not set.
func emptyFlags(command *cobra.Command) []input.Problem {
	var problems []input.Problem
	command.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Value.String() == "" {
			problems = append(problems, input.Problem{Field: "--" + flag.Name, Reason: "must not be empty", Remedy: "omit the flag"})
		}
	})
	return problems
}
