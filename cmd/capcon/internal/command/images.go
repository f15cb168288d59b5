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
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/imageref"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/nodeimages"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

// usePlane has an image without a shell.
const usePlane = string(images.Plane)

// imageReport is an image that clusters are made of.
type imageReport struct {
	Use string `json:"use"`
	// KubernetesVersion of a node image.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	Reference         string `json:"reference"`
	// Present: the engine has it. Otherwise it is pulled when it is needed,
	// unless it is one that is built from source.
	Present   bool  `json:"present"`
	SizeBytes int64 `json:"sizeBytes,omitempty"`
}

func imagesCommand(a *session.App) *cobra.Command {
	var format string
	list := &cobra.Command{
		Use:   "list",
		Short: "List the images of new clusters, and whether the engine has them",
		Args:  cobra.NoArgs,
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return listImages(ctx, s, format)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	output.AddFlag(list, &format)
	command := &cobra.Command{Use: "images", Short: "Load and list the images of clusters"}
	command.AddCommand(list, &cobra.Command{
		Use:     "load FILE...",
		Short:   "Load missing images from archives into the engine",
		Example: "  capcon images load node.tar haproxy.tar plane.tar",
		Args:    cobra.MinimumNArgs(1),
		RunE:    session.OnEngine(a.Connect, loadImages),
	})
	return command
}

func loadImages(ctx context.Context, s *session.Session, files []string) error {
	var failed []error
	for _, file := range files {
		archive, err := nodeimages.ReadArchive(file)
		var loaded bool
		if err == nil {
			loaded, err = archive.Load(ctx, s.Engine)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		word := "already loaded"
		if loaded {
			word = "loaded"
		}
		for _, image := range archive.Images {
			s.Printf("%-14s %s (%s)", word, strings.Join(image.Tags, " "), image.ID)
		}
	}
	return errors.Join(failed...)
}

func listImages(ctx context.Context, s *session.Session, format string) error {
	found, err := imageReports(ctx, s.Engine)
	if err != nil {
		return err
	}
	return s.Print(format, found, func() error { return printImages(s.App, found) })
}

// imageReports of what a new cluster is made of, and of node images of other
// versions of Kubernetes that are there. Load balancer first: it is the
// smallest.
func imageReports(ctx context.Context, e images.Inspector) ([]imageReport, error) {
	wishes := []images.Wish{
		{Use: images.LoadBalancer}, {Use: images.Plane}, {Use: images.Node, KubernetesVersion: input.DefaultKubernetes()},
	}
	for _, version := range node.KnownVersions() {
		if version != input.DefaultKubernetes() {
			wishes = append(wishes, images.Wish{Use: images.Node, KubernetesVersion: version})
		}
	}
	var found []imageReport
	for _, wish := range wishes {
		one, err := reportImage(ctx, e, wish)
		if err != nil {
			return nil, err
		}
		if one.Present || wish.KubernetesVersion == "" || wish.KubernetesVersion == input.DefaultKubernetes() {
			found = append(found, one)
		}
	}
	return found, nil
}

func reportImage(ctx context.Context, e images.Inspector, wish images.Wish) (imageReport, error) {
	reference, err := images.Choose(ctx, e, wish)
	if err != nil {
		return imageReport{}, err
	}
	result := imageReport{Use: string(wish.Use), KubernetesVersion: wish.KubernetesVersion, Reference: reference}
	image, found, err := images.Find(ctx, e, reference)
	result.Present, result.SizeBytes = found, image.SizeBytes
	return result, err
}

func printImages(a *session.App, found []imageReport) error {
	const megabyte = 1 << 20
	lines := []string{"IMAGE FOR\tREFERENCE\tSTATE"}
	for _, image := range found {
		state := "missing; pulled on demand"
		if reference, err := imageref.Parse(image.Reference); image.Present {
			state = fmt.Sprintf("present, %d MiB", image.SizeBytes/megabyte)
		} else if err == nil && reference.LocalOnly() {
			state = "missing, and not in a registry: " + images.LoadCommand(images.Use(image.Use), release.Version())
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s", strings.TrimSpace(image.Use+" "+image.KubernetesVersion), image.Reference, state))
	}
	return a.Table(lines)
}
