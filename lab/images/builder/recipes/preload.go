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

package recipes

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

const (
	// preloaded is where a node finds images that its image brings along: not
	// below /var, which the engine copies into each node's volume. A node's
	// containerd holds symbolic links to it, which overlayfs follows.
	preloaded = "usr/lib/containerd-preloaded"
	// Directories below containerd's root.
	contentStore = "io.containerd.content.v1.content"
	metadata     = "io.containerd.metadata.v1.bolt"
	snapshotter  = "io.containerd.snapshotter.v1.overlayfs"
)

// podImage is an image that Pods of the node are made from.
type podImage struct {
	names  []string
	base   *build.Artifact // layer below the program, nil for none
	source *build.Artifact
	// program is its name in the source and path where it goes.
	program, path string
	config        v1.Config
}

// nodeImagesLayer has a containerd of the same version import and unpack the
// images as root, and keeps what it wrote.
func nodeImagesLayer(c *components, bases podBases, kindVersion string) *build.Artifact {
	a := &build.Artifact{
		Name:   "node-images",
		Needs:  []*build.Artifact{c.containerd, c.kubernetes, c.etcd, c.coredns, c.flannel, bases.userland, bases.static, bases.pause},
		Recipe: []string{"recipes/preload.go", "recipes/controlplane.go"},
		Values: []string{kindVersion, c.kubernetesVersion},
	}
	return build.Layer(a, func(ctx context.Context, w *build.Workspace, t *build.Tree) error {
		if err := w.PrepareHost(ctx); err != nil {
			return err
		}
		images, err := podImages(ctx, w, c, bases)
		if err != nil {
			return err
		}
		archive := filepath.Join(w.Scratch, "images.tar")
		if err := writePodImages(ctx, w, images, archive); err != nil {
			return err
		}
		w.Say("importing %d images", len(images))
		root := filepath.Join(w.Scratch, "containerd")
		if err := importImages(ctx, w, c.containerd, root, archive); err != nil {
			return err
		}
		return splitStore(root, t)
	})
}

func writePodImages(ctx context.Context, w *build.Workspace, images []podImage, archive string) error {
	tagged := map[name.Tag]v1.Image{}
	for _, image := range images {
		directory := filepath.Join(w.Scratch, "program-"+filepath.Base(image.path))
		t := &build.Tree{Directory: directory}
		t.Mkdir(".", 0o755)
		t.Copy(w.Of(image.source, image.program), image.path, 0o755)
		if t.Err != nil {
			return fmt.Errorf("write image %s: %w", image.names[0], t.Err)
		}
		layer := directory + ".tar"
		if err := build.PackLayer(ctx, directory, layer); err != nil {
			return err
		}
		var layers []build.ImageLayer
		if image.base != nil {
			layers = append(layers, build.ImageLayer{File: w.Of(image.base, build.LayerFile), Comment: image.base.Name})
		}
		// Compressed, unlike the node image: these are read once and then lie
		// in every node image.
		built, err := w.Platform.Assemble(append(layers, build.ImageLayer{File: layer, Comment: image.program}), image.config, gzip.BestSpeed)
		if err != nil {
			return err
		}
		for _, reference := range image.names {
			tag, err := name.NewTag(reference)
			if err != nil {
				return fmt.Errorf("parse image name: %w", err)
			}
			tagged[tag] = built
		}
	}
	if err := tarball.MultiWriteToFile(archive, tagged); err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	return nil
}

// importImages runs a containerd of its own, without what serves Pods.
func importImages(ctx context.Context, w *build.Workspace, containerd *build.Artifact, root, archive string) (err error) {
	// Sockets have short paths.
	state, err := os.MkdirTemp("", "containerd-")
	if err != nil {
		return fmt.Errorf("create state directory: %w", err)
	}
	defer func() { w.CleanUp(w.Name, os.RemoveAll(state)) }()
	socket := filepath.Join(state, "containerd.sock")
	config := filepath.Join(state, "config.toml")
	if err := os.WriteFile(config, []byte(importConfig(root, state, socket)), 0o600); err != nil {
		return fmt.Errorf("write containerd's configuration: %w", err)
	}
	log, err := os.Create(filepath.Join(w.Scratch, "containerd.log"))
	if err != nil {
		return fmt.Errorf("create containerd's log: %w", err)
	}
	defer func() { w.CleanUp(w.Name, log.Close()) }()
	daemon := exec.CommandContext(context.WithoutCancel(ctx), w.Of(containerd, "containerd"), "--config", config)
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		return fmt.Errorf("start containerd: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	defer func() {
		err = errors.Join(err, stop(daemon, ended))
		if err != nil {
			text, _ := os.ReadFile(log.Name()) // a part of it is better than nothing
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			err = fmt.Errorf("%w\n    %s", err, strings.Join(lines[max(0, len(lines)-build.OutputTail):], "\n    "))
		}
	}()
	if err := waitForSocket(ctx, socket, ended); err != nil {
		return err
	}
	ctr := []string{w.Of(containerd, "ctr"), "--address", socket, "--namespace", "k8s.io", "images", "import",
		// As in kind's image: the kubelet never removes them to free space.
		"--label", "io.cri-containerd.pinned=pinned", "--snapshotter", "overlayfs", archive}
	return build.Command{Args: ctr, Hint: "Does this machine's kernel have overlayfs, and is the cache not on an overlay itself?"}.Run(ctx)
}

func importConfig(root, state, socket string) string {
	return fmt.Sprintf(`version = 3
root = %q
state = %q
disabled_plugins = [
  "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri",
  "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri", "io.containerd.internal.v1.tracing",
]
[grpc]
  address = %q
`, root, state, socket)
}

// stop ends containerd so that its databases are closed properly.
func stop(daemon *exec.Cmd, ended <-chan error) error {
	if err := daemon.Process.Signal(unix.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop containerd: %w", err)
	}
	patience := time.NewTimer(20 * time.Second)
	defer patience.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("run containerd: %w", err)
		}
		return nil
	case <-patience.C:
		return errors.Join(errors.New("containerd did not stop within 20 s"), daemon.Process.Kill())
	}
}

func waitForSocket(ctx context.Context, socket string, ended chan error) error {
	patience, ticker := time.NewTimer(30*time.Second), time.NewTicker(50*time.Millisecond)
	defer patience.Stop()
	defer ticker.Stop()
	for !build.Exists(socket) {
		select {
		case err := <-ended:
			ended <- err
			return errors.New("containerd ended before it served")
		case <-patience.C:
			return errors.New("containerd did not serve within 30 s")
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// splitStore moves contents and unpacked files out of containerd's root and
// leaves links: what a node copies is the two databases.
func splitStore(root string, t *build.Tree) error {
	const target = "var/lib/containerd"
	for _, database := range []string{metadata + "/meta.db", snapshotter + "/metadata.db"} {
		t.Copy(filepath.Join(root, database), filepath.Join(target, database), 0o600)
	}
	t.Mkdir(target+"/"+contentStore+"/ingest", 0o700)
	moves := []struct{ pattern, to, link string }{
		{contentStore + "/blobs/sha256/*", preloaded + "/blobs/%s", contentStore + "/blobs/sha256/%s"},
		{snapshotter + "/snapshots/*", preloaded + "/snapshots/%s", snapshotter + "/snapshots/%s/fs"},
	}
	t.Mkdir(preloaded+"/blobs", 0o755)
	t.Mkdir(preloaded+"/snapshots", 0o755)
	for _, move := range moves {
		matches, err := filepath.Glob(filepath.Join(root, move.pattern))
		if err != nil {
			return fmt.Errorf("list imported files: %w", err)
		}
		if len(matches) == 0 {
			return fmt.Errorf("containerd left nothing at %s", move.pattern)
		}
		for _, match := range matches {
			base := filepath.Base(match)
			if fs := filepath.Join(match, "fs"); build.Exists(fs) {
				match = fs
				t.Mkdir(fmt.Sprintf(target+"/"+snapshotter+"/snapshots/%s/work", base), 0o711)
			}
			to := fmt.Sprintf(move.to, base)
			if t.Err == nil {
				t.Err = os.Rename(match, filepath.Join(t.Directory, to))
			}
			t.Link("/"+to, target+"/"+fmt.Sprintf(move.link, base))
		}
	}
	for _, private := range []string{"", "/" + snapshotter, "/" + snapshotter + "/snapshots"} {
		t.Mkdir(target+private, 0o700)
	}
	return t.Err
}
