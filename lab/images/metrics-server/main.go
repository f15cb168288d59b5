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

// Command metrics-server is metrics-server with the Kubernetes libraries of the nodes'
// version, so that what both are compiled from is compiled once. It takes the flags of the
// stock program.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/pkg/version"
	"k8s.io/component-base/cli"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/metrics-server/cmd/metrics-server/app/options"
)

func main() {
	given := options.NewOptions()
	command := &cobra.Command{
		Use: "metrics-server", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return run(genericapiserver.SetupSignalContext(), given)
		},
	}
	for _, flags := range given.Flags().FlagSets {
		command.Flags().AddFlagSet(flags)
	}
	os.Exit(cli.Run(command))
}

func run(ctx context.Context, given *options.Options) error {
	if given.ShowVersion {
		fmt.Println(version.Get().GitVersion)
		return nil
	}
	if err := errors.Join(given.Validate()...); err != nil {
		return fmt.Errorf("check flags: %w", err)
	}
	config, err := given.ServerConfig()
	if err != nil {
		return fmt.Errorf("configure the server: %w", err)
	}
	v2, v3 := config.Apiserver.OpenAPIConfig, config.Apiserver.OpenAPIV3Config
	v2.GetDefinitions = renamed(v2.GetDefinitions)
	v3.GetDefinitions = renamed(v3.GetDefinitions)
	v3.Definitions = v3.GetDefinitions(func(name string) spec.Ref {
		name, _ = v3.GetDefinitionName(name)
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(name))
	})
	server, err := config.Complete()
	if err != nil {
		return fmt.Errorf("create the server: %w", err)
	}
	return server.RunUntil(ctx.Done())
}

// renamed gives definitions the names that the libraries look for in v0.36:
// metrics-server's still have the paths of Go packages.
func renamed(get common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		all := map[string]common.OpenAPIDefinition{}
		for name, definition := range get(func(name string) spec.Ref { return ref(util.ToRESTFriendlyName(name)) }) {
			for i, dependency := range definition.Dependencies {
				definition.Dependencies[i] = util.ToRESTFriendlyName(dependency)
			}
			all[util.ToRESTFriendlyName(name)] = definition
		}
		return all
	}
}
