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

// Package image has the commands that load and list images.
package image

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// Command is capcon images.
func Command(a *session.App) *cobra.Command {
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
		Short:   "Load missing images from archives, or standard input (-), into the engine",
		Example: "  capcon images load node.tar haproxy.tar plane.tar",
		Args:    cobra.MinimumNArgs(1),
		RunE:    session.OnEngine(a.Connect, loadImages),
	})
	return command
}

func loadImages(ctx context.Context, s *session.Session, files []string) error {
	var failed []error
	for _, file := range files {
		archive, err := readArchive(s, file)
		var loaded bool
		if err == nil {
			loaded, err = archive.Load(ctx, s.Engine)
			err = errors.Join(err, archive.Close())
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
	found, err := images.List(ctx, s.Engine)
	if err != nil {
		return err
	}
	return s.Print(format, found, func() error { return s.Table(images.Table(found)) })
}
