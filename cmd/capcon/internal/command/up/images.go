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
	"fmt"
	"os"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/templates"
)

// decideImages chooses the images and fetches those the engine lacks: here
// the user's credentials are known, in the management plane they are not.
func (r *run) decideImages(ctx context.Context, values *objects.Values) (err error) {
	r.board.Begin(session.StepImages, "inspecting images")
	values.NodeImage, err = r.nodeImage(ctx, values.KubernetesVersion)
	if err != nil {
		return err
	}
	values.LoadBalancerImage, err = r.loadBalancerImage(ctx)
	if err != nil {
		return err
	}
	for _, image := range []struct {
		use       images.Use
		reference string
	}{{images.Node, values.NodeImage}, {images.LoadBalancer, values.LoadBalancerImage}} {
		if err := r.session.EnsureImage(ctx, r.board, image.use, image.reference); err != nil {
			return err
		}
	}
	r.board.Finished(session.StepImages, values.NodeImage+", "+values.LoadBalancerImage)
	return nil
}

func (r *run) nodeImage(ctx context.Context, version string) (string, error) {
	return images.Choose(ctx, r.session.Engine, images.Wish{
		Use: images.Node, Named: r.request.Image, Registry: r.request.Registry, KubernetesVersion: version,
	})
}

func (r *run) loadBalancerImage(ctx context.Context) (string, error) {
	return images.Choose(ctx, r.session.Engine, images.Wish{
		Use: images.LoadBalancer, Named: r.request.LoadBalancerImage, Registry: r.request.Registry,
	})
}

// decideNode asks the node image what it is, before anything is made of it.
func (r *run) decideNode(ctx context.Context, values *objects.Values) error {
	read, err := r.readNodeImage(ctx, values.NodeImage)
	if err != nil {
		return err
	}
	if err := checkNodeImage(values.NodeImage, read, values.KubernetesVersion); err != nil {
		return err
	}
	values.CNIManifest, err = podNetwork(r.request.CNI, read, values.PodCIDR)
	return err
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
func (r *run) readNodeImage(ctx context.Context, name string) (read images.NodeImage, err error) {
	image, err := r.session.Engine.InspectImage(ctx, name)
	if err != nil {
		return read, fmt.Errorf("inspect node image %q: %w", name, err)
	}
	if r.session.Records.NodeImage(image.ID, &read) {
		return read, nil
	}
	if read, err = images.ReadNode(ctx, r.session.Engine, name); err != nil {
		return read, err
	}
	r.session.Records.Unsaved(r.session.Records.SaveNodeImage(image.ID, read))
	return read, nil
}

// podNetwork returns the manifest that was asked for, for the range of Pods; empty with none.
// Without a wish it is the node image's own, because only that image's Pods find their images
// in it.
func podNetwork(wish string, image images.NodeImage, podCIDR string) (string, error) {
	manifest := templates.Flannel
	switch wish {
	case input.CNINone:
		return "", nil
	case input.CNIFlannel:
	case "", input.CNIAuto:
		manifest = cmp.Or(image.CNIManifest, manifest)
	default:
		text, err := os.ReadFile(wish)
		if err != nil {
			return "", fmt.Errorf("read CNI manifest: %w", err)
		}
		rendered, err := images.RenderCNI(string(text), podCIDR)
		if err != nil {
			return "", err
		}
		return rendered, input.Refuse(input.CheckManifest(wish, rendered)...)
	}
	return images.RenderCNI(manifest, podCIDR)
}
