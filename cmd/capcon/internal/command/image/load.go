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

package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/nodeimages"
)

// LoadCommand is capcon load.
func LoadCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "load NAME IMAGE...",
		Short: "Copy images of the engine into the nodes of a cluster",
		Long: "Copy images of the engine, such as a local build, into all nodes of a cluster, so that\n" +
			"Pods can use them without a registry. Nodes that have an image are skipped. Nodes that join later\n" +
			"get the images too; for nodes on another host, its engine gets them. IMAGE can also be the path of an archive of \"docker save\" or an OCI archive,\n" +
			"also one compressed with gzip, or - for standard input, which is loaded into the engine first. Of an image\n" +
			"for several platforms, the one for the engine's architecture is loaded.",
		Example: "  docker build -t app:dev . && capcon load demo app:dev\n  capcon load demo images.tar\n" +
			"  docker buildx build -t app:dev --output type=oci . | capcon load demo -",
		Args: cobra.MinimumNArgs(2), //nolint:mnd // A cluster and at least one image.
		PreRunE: func(_ *cobra.Command, args []string) error {
			return input.Refuse(append(input.CheckName(args[0]), checkStdin(a, args[1:])...)...)
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			return runLoad(ctx, s, args[0], args[1:])
		}),
		ValidArgsFunction: a.CompleteNames,
	}
}

// stdin as an argument is standard input.
const stdin = "-"

func checkStdin(a *session.App, arguments []string) []input.Problem {
	count := 0
	for _, argument := range arguments {
		if argument == stdin {
			count++
		}
	}
	problem := input.Problem{Field: "IMAGE", Value: stdin, Remedy: "use it once, with an archive as standard input, such as: docker save app:dev | capcon load demo -"}
	switch {
	case count > 1:
		problem.Reason = "standard input can be read once only"
	case count == 1 && a.Interactive():
		problem.Reason = "standard input is a terminal"
	default:
		return nil
	}
	return []input.Problem{problem}
}

func runLoad(ctx context.Context, s *session.Session, cluster string, arguments []string) (err error) {
	nodes, err := nodesOf(ctx, s, cluster)
	if err != nil {
		return err
	}
	references, err := loadArchives(ctx, s, arguments)
	if err != nil {
		return err
	}
	var sources []*nodeimages.Source
	defer func() {
		for _, source := range sources {
			err = errors.Join(err, source.Close())
		}
	}()
	// All of them, before any node is changed.
	var refused []error
	for _, reference := range references {
		source, err := nodeimages.OpenSource(ctx, s.Engine, reference)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		sources = append(sources, source)
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	if err := loadSources(ctx, s, sources, nodes); err != nil {
		return err
	}
	adviseLatest(s, sources)
	if err := keepImages(ctx, s, nodes, references); err != nil {
		return err
	}
	if len(nodes.stopped) > 0 {
		return fmt.Errorf("images not loaded into nodes that are not running: %s; start them, and run the command again", strings.Join(nodes.stopped, ", "))
	}
	return nil
}

// isFile reports whether an argument is a file, and no image of the engine. A path is no
// name of an image, and a name that ends like an archive is none that is in use.
func isFile(ctx context.Context, s *session.Session, argument string) (bool, error) {
	if argument == stdin {
		return true, nil
	}
	for _, suffix := range []string{".tar", ".tar.gz", ".tgz"} {
		if strings.HasSuffix(argument, suffix) {
			return true, nil
		}
	}
	if filepath.IsAbs(argument) || strings.HasPrefix(argument, ".") {
		return true, nil
	}
	info, err := os.Stat(argument)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return false, nil //nolint:nilerr // It may still be an image.
	}
	_, found, err := images.Find(ctx, s.Engine, argument)
	return !found, err
}

// loadArchives loads those arguments that are archives into the engine, and returns the
// images that all arguments name: nodes that join later get theirs from the engine.
func loadArchives(ctx context.Context, s *session.Session, arguments []string) ([]string, error) {
	var references []string
	for _, argument := range arguments {
		isFile, err := isFile(ctx, s, argument)
		if err != nil {
			return nil, err
		}
		if !isFile {
			references = append(references, argument)
			continue
		}
		tags, err := loadArchive(ctx, s, argument)
		if err != nil {
			return nil, err
		}
		references = append(references, tags...)
	}
	return references, nil
}

func loadArchive(ctx context.Context, s *session.Session, file string) (tags []string, err error) {
	archive, err := readArchive(s, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	for _, image := range archive.Images {
		if len(image.Tags) == 0 {
			return nil, fmt.Errorf("image archive %s: image %s has no tag and cannot be used by Pods; save it with a tag", file, image.ID)
		}
		tags = append(tags, image.Tags...)
	}
	for _, name := range archive.Names {
		if images.Reserved(name) {
			return nil, fmt.Errorf("image archive %s: the name %s is reserved for the images that capcon runs with access to the engine; "+
				"save the image with another name, or, if you trust the archive, run \"%s images load %s\"", file, name, s.Program, file)
		}
	}
	_, err = archive.Load(ctx, s.Engine)
	return tags, err
}

func readArchive(s *session.Session, file string) (nodeimages.Archive, error) {
	if file == stdin {
		return nodeimages.ReadStream("on standard input", s.In, s.Info.Architecture)
	}
	return nodeimages.ReadArchive(file, s.Info.Architecture)
}

// keepImages records the images in the cluster, whose provider copies them into nodes that
// join later.
func keepImages(ctx context.Context, s *session.Session, nodes nodes, references []string) error {
	if s.Client == nil {
		s.Errorf("The management plane is not ready: the images are not loaded into nodes that join later. Run the command again when it is ready.")
		return nil
	}
	onEngine := func(name string) bool {
		return slices.ContainsFunc(append(nodes.others, s), func(on *session.Session) bool {
			_, found, err := images.Find(ctx, on.Engine, name)
			return found || err != nil // What is not known stays.
		})
	}
	dropped, err := management.KeepImages(ctx, s.Client, client.ObjectKey{Namespace: management.Namespace, Name: nodes.cluster}, references, onEngine)
	if err == nil && len(dropped) > 0 {
		s.Errorf("No longer copied into nodes that join later, because the engine does not have them or the list is full: %s.",
			strings.Join(dropped, ", "))
	}
	return err
}

// nodes of a cluster.
type nodes struct {
	cluster string
	// running containers of its machines, and the names of the others.
	running []session.Container
	stopped []string
	// others are the sessions on engines that have nodes, but that of the command.
	others []*session.Session
}

func nodesOf(ctx context.Context, s *session.Session, cluster string) (nodes, error) {
	found := nodes{cluster: cluster}
	owner, err := s.OwnerOf(ctx, cluster)
	if err = cmp.Or(err, s.CheckContainers()); err != nil {
		return found, err
	}
	containers, err := s.Containers(ctx, owner)
	if err != nil {
		return found, err
	}
	for _, container := range containers {
		if container.Labels[identity.LabelMachine] == "" {
			continue
		}
		if container.On != s && !slices.Contains(found.others, container.On) {
			found.others = append(found.others, container.On)
		}
		if container.Status == engine.StatusRunning {
			found.running = append(found.running, container)
			continue
		}
		found.stopped = append(found.stopped, container.Name)
	}
	if len(found.running) == 0 {
		return found, fmt.Errorf("cluster %q has no running nodes; see \"%s status %s\"", cluster, s.Program, cluster)
	}
	return found, checkArchitecture(s, found.others)
}

// loadSources into the engines of the nodes, and into the nodes.
func loadSources(ctx context.Context, s *session.Session, sources []*nodeimages.Source, nodes nodes) error {
	board := s.NewBoard("Loading images into nodes of cluster " + nodes.cluster)
	defer board.Close()
	for _, source := range sources {
		for _, other := range nodes.others {
			if err := copyToEngine(ctx, s, board, source, other); err != nil {
				return fmt.Errorf("engine %q: %w", other.EngineName, err)
			}
		}
		if err := loadSource(ctx, board, source, nodes.running); err != nil {
			return err
		}
	}
	return nil
}

// concurrentNodes read an image at the same time. More only compete for the disk.
const concurrentNodes = 4

func loadSource(ctx context.Context, board *progress.Board, source *nodeimages.Source, nodes []session.Container) error {
	board.Waiting(source.Reference, fmt.Sprintf("loaded into 0 of %d nodes", len(nodes)))
	var finished, copied atomic.Int32
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentNodes)
	for _, node := range nodes {
		group.Go(func() error {
			done, err := source.CopyTo(ctx, node.On.Engine, node.Name)
			if err != nil {
				return fmt.Errorf("load %s into node %s: %w", source.Reference, node.Name, err)
			}
			if done {
				copied.Add(1)
			}
			board.Figure(source.Reference, fmt.Sprintf("loaded into %d of %d nodes", finished.Add(1), len(nodes)))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	detail := fmt.Sprintf("copied to %d of %d nodes", copied.Load(), len(nodes))
	if had := len(nodes) - int(copied.Load()); had > 0 {
		detail += fmt.Sprintf("; already present in %d", had)
	}
	board.Finished(source.Reference, detail)
	return nil
}

// adviseLatest: Kubernetes asks a registry for that tag unless a Pod says otherwise.
func adviseLatest(s *session.Session, sources []*nodeimages.Source) {
	for _, source := range sources {
		if strings.HasSuffix(source.Name, ":latest") {
			s.Errorf("%s: set imagePullPolicy: IfNotPresent in Pods, because the default of the tag latest is Always.", source.Name)
		}
	}
}
