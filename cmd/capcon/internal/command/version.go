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

package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

func versionCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the known Kubernetes versions with their node images",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.Printf("capcon %s\n", release.Program())
			lines := []string{"KUBERNETES\tNODE IMAGE\tSOURCE"}
			for _, version := range node.KnownVersions() {
				image, err := node.Image(version)
				if err != nil {
					return err
				}
				source := "pulled from its registry"
				switch {
				case version == node.DefaultVersion:
					source = "default; " + images.LoadCommand(images.Node, release.Version())
				case image == node.BuiltImage(version):
					source = "built from source; " + images.BuildCommand(version)
				}
				name, _, _ := strings.Cut(image, "@")
				lines = append(lines, strings.Join([]string{version, name, source}, "\t"))
			}
			return a.Table(lines)
		},
	}
}
