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

package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/templates"
)

// decideImages chooses the images, fetches those the engine lacks, and takes the Pod network from
// the node image.
func (r *run) decideImages(ctx context.Context, values *objects.Values) error {
	r.board.Begin(session.StepImages, "inspecting images")
	if err := r.chooseImages(ctx, values); err != nil {
		return err
	}
	if values.InMemory {
		r.board.Finished(session.StepImages, "none, because the cluster is in memory")
		return nil
	}
	read, err := r.fetchImages(ctx, values.NodeImage, values.LoadBalancerImage, values.KubernetesVersion)
	if err != nil {
		return err
	}
	r.board.Finished(session.StepImages, values.NodeImage+", "+values.LoadBalancerImage)
	values.CNIManifest, err = podNetwork(r.request.CNI, read, values.PodCIDR)
	return err
}

// chooseImages of a new cluster. Nothing is pulled.
func (r *run) chooseImages(ctx context.Context, values *objects.Values) (err error) {
	if values.NodeImage, err = r.nodeImage(ctx, values.KubernetesVersion); err == nil {
		values.LoadBalancerImage, err = r.loadBalancerImage(ctx)
	}
	return err
}

// fetchImages that the engine lacks, and check that the node image has the version of Kubernetes:
// here the user's credentials are known, in the management plane they are not. Either may be empty.
func (r *run) fetchImages(ctx context.Context, node, loadBalancer, version string) (read images.NodeImage, err error) {
	if r.session.InMemory {
		return read, nil
	}
	on, err := r.on(ctx)
	if err != nil {
		return read, err
	}
	fetch := func(on *session.Session) error {
		if node != "" {
			if err := r.ensureImage(ctx, on, images.Node, node); err != nil {
				return err
			}
		}
		if loadBalancer != "" {
			return r.ensureImage(ctx, on, images.LoadBalancer, loadBalancer)
		}
		return nil
	}
	if err := errors.Join(fetch(on), r.onOthers(ctx, fetch)); err != nil {
		return read, err
	}
	if node != "" {
		if read, err = r.readNodeImage(ctx, on.Engine, node); err == nil {
			err = checkNodeImage(node, read, version)
		}
	}
	return read, err
}

func (r *run) nodeImage(ctx context.Context, version string) (string, error) {
	if r.session.InMemory {
		return node.BuiltImage(version), nil // nothing of it is used but its tag
	}
	from, err := r.sources(ctx)
	if err != nil {
		return "", err
	}
	return images.Choose(ctx, from, images.Request{
		Use: images.Node, Named: r.request.Image, Registry: r.request.Registry, KubernetesVersion: version,
	})
}

func (r *run) loadBalancerImage(ctx context.Context) (string, error) {
	if r.session.InMemory {
		return loadbalancer.BuiltImage, nil
	}
	from, err := r.sources(ctx)
	if err != nil {
		return "", err
	}
	return images.Choose(ctx, from, images.Request{
		Use: images.LoadBalancer, Named: r.request.LoadBalancerImage, Registry: r.request.Registry,
	})
}

// checkNodeImage refuses an image of another version of Kubernetes.
func checkNodeImage(image string, read images.NodeImage, version string) error {
	if read.KubernetesVersion == "" || read.KubernetesVersion == version {
		return nil
	}
	return input.Refuse(input.Problem{
		Field: "--image", Value: image,
		Reason: fmt.Sprintf("has Kubernetes %s instead of %s", read.KubernetesVersion, version),
		Remedy: "use --kubernetes-version " + read.KubernetesVersion + ", or another image",
	})
}

// readNodeImage, or what was saved of it: reading costs a container.
func (r *run) readNodeImage(ctx context.Context, on engine.Engine, name string) (read images.NodeImage, err error) {
	image, err := on.InspectImage(ctx, name)
	if err != nil {
		return read, fmt.Errorf("inspect node image %q: %w", name, err)
	}
	if r.session.Records.NodeImage(image.ID, &read) {
		return read, nil
	}
	if read, err = images.ReadNode(ctx, on, name); err != nil {
		return read, err
	}
	r.session.Records.Unsaved(r.session.Records.SaveNodeImage(image.ID, read))
	return read, nil
}

// podNetwork returns the manifest of --cni for the range of Pods; empty with none. The default is
// the node image's own, because only that image's Pods find their images in it.
func podNetwork(requested string, image images.NodeImage, podCIDR string) (string, error) {
	manifest := templates.Flannel
	switch requested {
	case input.CNINone:
		return "", nil
	case input.CNIFlannel:
	case "", input.CNIAuto:
		manifest = cmp.Or(image.CNIManifest, manifest)
	default:
		text, err := os.ReadFile(requested)
		if err != nil {
			return "", fmt.Errorf("read CNI manifest: %w", err)
		}
		rendered, err := images.RenderCNI(string(text), podCIDR)
		if err != nil {
			return "", err
		}
		return rendered, input.Refuse(input.CheckManifest(requested, rendered)...)
	}
	return images.RenderCNI(manifest, podCIDR)
}
