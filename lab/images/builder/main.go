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

// Command builder makes the project's container images on this machine, from
// Go modules and Debian packages, for places without an image registry.
//
//	go run . node haproxy plane registry metrics-server
//
// Every step is an artifact in a cache, found again by a hash over what goes
// into it: a build with unchanged inputs only compares hashes. Each program is
// built from its own Go module in a directory next to this one.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/debian"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/recipes"
)

// sources are the recipes themselves.
//
//go:embed *.go */*.go
var sources embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("builder", flag.ContinueOnError)
	root := flags.String("root", filepath.Join("..", "..", ".."), "directory of the repository")
	load := flags.String("load", "", "load the images, where the engine has others, with this command of an engine, such as \"podman --remote\"")
	version := flags.String("version", "", "version of a release, for the images of the group \"release\"")
	architecture := flags.String("arch", runtime.GOARCH, "architecture of the images, such as arm64")
	kubernetes := flags.String("kubernetes", "", "build also the node image of this version of Kubernetes, such as v1.35.4")
	output := flags.String("output", "", "write the images, with lists of their Debian packages, to this directory")
	check := flags.Bool("check-packages", false, "only fail if Debian's security suite has newer packages than the images")
	flags.Usage = func() {
		_, _ = fmt.Fprintf(flags.Output(), "usage: go run . [flags] <image or group>...\nimages: %s\ngroups: %s\n",
			strings.Join(recipes.AllNames(), " "), strings.Join(slices.Sorted(maps.Keys(recipes.Groups())), " "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	names, err := recipes.Expand(flags.Args())
	if err == nil && *kubernetes != "" {
		var node string
		node, err = recipes.NodeOf(os.DirFS(build.ImagesDirectory(*root)), *kubernetes)
		names = recipes.Union(names, []string{node})
	}
	if err != nil {
		return err
	}
	if *version == "" && slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, recipes.ReleaseSuffix) }) {
		return errors.New("images of a release need -version")
	}
	engine := strings.Fields(*load)
	built, err := build.NewPlatform(*architecture)
	if err != nil {
		return err
	}
	cache, err := build.DefaultCache(built)
	if err != nil {
		return err
	}
	b, err := build.New(ctx, build.Options{Root: *root, Cache: cache, Sources: sources, Version: *version, Platform: built})
	if err != nil {
		return err
	}
	defer b.Close()
	if *check {
		return debian.CheckPackages(ctx, b, recipes.Debs(b))
	}
	images, err := recipes.Of(ctx, b, names)
	if err == nil {
		err = b.Publish(ctx, names, images)
	}
	if err == nil && *output != "" {
		err = export(ctx, b, *output, names, images)
	}
	if err != nil || len(engine) == 0 {
		return err
	}
	return loader{Builder: b, engine: engine}.loadImages(ctx, names)
}
