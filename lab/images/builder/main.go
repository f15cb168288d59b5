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
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

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
			strings.Join(allNames(), " "), strings.Join(slices.Sorted(maps.Keys(groups())), " "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	names, err := expand(flags.Args())
	if err == nil && *kubernetes != "" {
		var node string
		node, err = nodeOf(os.DirFS(imagesDirectory(*root)), *kubernetes)
		names = union(names, []string{node})
	}
	if err != nil {
		return err
	}
	if *version == "" && slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, releaseSuffix) }) {
		return errors.New("images of a release need -version")
	}
	engine := strings.Fields(*load)
	built, err := newPlatform(*architecture)
	if err != nil {
		return err
	}
	b, err := newBuilder(ctx, *root, built)
	if err != nil {
		return err
	}
	defer b.close()
	if *check {
		return b.checkPackages(ctx)
	}
	b.version = *version
	recipes, err := b.buildImages(ctx, names)
	if err == nil && *output != "" {
		err = b.export(ctx, *output, names, recipes)
	}
	if err != nil || len(engine) == 0 {
		return err
	}
	return loader{builder: b, engine: engine}.loadImages(ctx, names)
}

func (b *builder) buildImages(ctx context.Context, names []string) (map[string]*artifact, error) {
	recipes, err := b.recipes(ctx, names)
	if err != nil {
		return nil, err
	}
	requested := make([]*artifact, 0, len(names))
	for _, name := range names {
		requested = append(requested, recipes[name])
	}
	count, err := b.missing(requested)
	if err != nil {
		return nil, err
	}
	b.underway.plan(count)
	if count > 0 {
		b.say("images", "%d parts are missing and are made now", count)
	}
	group, groupContext := errgroup.WithContext(ctx)
	go b.reportUnderway(groupContext) // until Wait returns
	for _, name := range names {
		group.Go(func() error { return b.publish(groupContext, name, recipes[name]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if !b.built.Load() {
		b.say("images", "Everything is up to date (%.1fs)", time.Since(b.start).Seconds())
	}
	return recipes, nil
}

// What clusters are upgraded from has the suffix -previous, and what they are upgraded to
// -next: the node image, and the kube-proxy in it, which nodes of the next version still
// run until all control planes have that version. Only tests need them, and each takes as
// long as all others.
const (
	nodeName = "node"
	// nodeKubernetes begins the names of their directories.
	nodeKubernetes = "kubernetes"
	proxyName      = "kube-proxy"
	nextSuffix     = "-next"
	// oldestSuffix ends the name of the node image of the oldest supported Kubernetes.
	oldestSuffix = "-oldest"
)

// nodeOf is the node image of a version of Kubernetes.
func nodeOf(images fs.FS, version string) (string, error) {
	var versions []string
	for _, suffix := range []string{"", previousSuffix, nextSuffix, oldestSuffix} {
		found, err := requiredVersion(images, nodeKubernetes+suffix, kubernetesModule)
		if err != nil {
			return "", err
		}
		if found == version {
			return nodeName + suffix, nil
		}
		versions = append(versions, found)
	}
	return "", fmt.Errorf("no node image of Kubernetes %s can be built; use one of %s", version, strings.Join(versions, ", "))
}

// allNames are the images that can be asked for, in the order of the help.
func allNames() []string {
	return slices.Concat(imageNames(), []string{nodeName + previousSuffix, proxyName + previousSuffix, nodeName + nextSuffix, nodeName + oldestSuffix}, managementNames(), previousManagementNames(), conformanceNames(),
		[]string{"plane" + releaseSuffix, managerName + releaseSuffix})
}

// groups are names for several images.
func groups() map[string][]string {
	return map[string][]string{
		"management": managementNames(), "management-previous": previousManagementNames(),
		"conformance-tests": conformanceNames(), "release": releaseNames(),
	}
}

// expand returns the images that are asked for, by their own names or their groups'.
func expand(arguments []string) ([]string, error) {
	if len(arguments) == 0 {
		return imageNames(), nil
	}
	var names []string
	for _, argument := range arguments {
		group, found := groups()[argument]
		switch {
		case found:
			names = append(names, group...)
		case slices.Contains(allNames(), argument):
			names = append(names, argument)
		default:
			return nil, fmt.Errorf("no image %q: there are %s", argument, strings.Join(allNames(), ", "))
		}
	}
	return names, nil
}

// imageNames are the images that are built where none is asked for.
func imageNames() []string {
	return []string{nodeName, "haproxy", "plane", "registry", metricsServer}
}
