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

package images

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Where node images, kind's and ours, keep what they say about themselves.
const (
	versionPath = "/kind/version"
	cniPath     = "/kind/manifests/default-cni.yaml"
)

// NodeImage is what a node image says about itself. Either may be empty. It is saved with
// these names of its fields.
type NodeImage struct {
	// KubernetesVersion of its components.
	KubernetesVersion string
	// CNIManifest of the Pod network whose images lie in the image, a
	// template for RenderCNI.
	CNIManifest string
}

// ReadNode reads what the image says about itself from a container that is
// never started. Image absent: ErrNotFound.
func ReadNode(ctx context.Context, e engine.Containers, image string) (NodeImage, error) {
	if err := removeProbes(ctx, e); err != nil {
		return NodeImage{}, err
	}
	// A name of its own for each run: another may be at work.
	name := probePrefix + strings.ToLower(rand.Text()[:8])
	read, err := readNode(ctx, e, name, image)
	// Also when the user interrupts: nothing may stay.
	if removed := e.RemoveContainer(context.WithoutCancel(ctx), name); removed != nil {
		err = errors.Join(err, fmt.Errorf("remove container %q: %w", name, removed))
	}
	if err != nil {
		return NodeImage{}, fmt.Errorf("read node image %q: %w", image, err)
	}
	return read, nil
}

// probePrefix begins the names of containers that images are read from.
const probePrefix = "capcon-image-probe-"

// removeProbes removes the probes of runs that were killed. A probe
// takes seconds: one that is older than a minute is orphaned.
func removeProbes(ctx context.Context, e engine.Containers) error {
	probes, err := e.ListContainers(ctx, map[string]string{identity.LabelRole: string(identity.RoleProbe)})
	if err != nil {
		return fmt.Errorf("list image probe containers: %w", err)
	}
	for _, probe := range probes {
		if strings.HasPrefix(probe.Name, probePrefix) && time.Since(probe.CreatedAt) > time.Minute {
			if err := engine.Remove(ctx, e, probe); err != nil {
				return err //nolint:wrapcheck // It names the container.
			}
		}
	}
	return nil
}

func readNode(ctx context.Context, e engine.Containers, name, image string) (NodeImage, error) {
	_, err := e.CreateContainer(ctx, engine.Spec{
		Name: name, Image: image,
		Labels: map[string]string{identity.LabelRole: string(identity.RoleProbe)},
	})
	if err != nil {
		return NodeImage{}, err
	}
	var read NodeImage
	for path, into := range map[string]*string{versionPath: &read.KubernetesVersion, cniPath: &read.CNIManifest} {
		content, err := engine.ReadFile(ctx, e, name, path)
		if engine.IgnoreNotFound(err) != nil {
			return NodeImage{}, err
		}
		*into = string(content)
	}
	read.KubernetesVersion = strings.TrimSpace(read.KubernetesVersion)
	return read, nil
}

// RenderCNI fills the Pod subnet into a manifest that is a template by kind's
// convention: it says so in a comment. Others are returned as they are.
func RenderCNI(manifest, podSubnet string) (string, error) {
	if !strings.Contains(manifest, "would you kindly template this file") {
		return manifest, nil
	}
	parsed, err := template.New("cni").Option("missingkey=error").Parse(manifest)
	if err != nil {
		return "", fmt.Errorf("parse CNI manifest: %w", err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, struct{ PodSubnet string }{podSubnet}); err != nil {
		return "", fmt.Errorf("render CNI manifest: %w", err)
	}
	return out.String(), nil
}
