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

package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/templates"
)

// decide the desired state of a new cluster: what was requested, completed by defaults.
// Images are on the engine afterwards.
func (s *session) decide(ctx context.Context, b *board, request input.Request) (objects.Values, error) {
	values := requested(request)
	steps := []func(context.Context, *board, input.Request, *objects.Values) error{
		s.decideRanges, s.decideImages, s.decideNode,
	}
	for _, step := range steps {
		if err := step(ctx, b, request, &values); err != nil {
			return objects.Values{}, err
		}
	}
	return values, nil
}

// requested values of a new cluster, with the defaults that depend on nothing else.
func requested(request input.Request) objects.Values {
	values := objects.Values{
		Namespace: namespace, Name: request.Name,
		KubernetesVersion: cmp.Or(request.KubernetesVersion, input.DefaultKubernetes()),
		ControlPlanes:     int32(ptr.Deref(request.ControlPlanes, 1)), //nolint:gosec // validated to be small
		Workers:           int32(ptr.Deref(request.Workers, 1)),       //nolint:gosec // validated to be small
		Network:           cmp.Or(request.Network, network.DefaultName),
		Resources:         requestedResources(request),
	}
	// Pods have no other node.
	values.AllowSchedulingOnControlPlanes = values.Workers == 0
	return values
}

// decideImages chooses the images and fetches those the engine lacks: here
// the user's credentials are known, in the management plane they are not.
func (s *session) decideImages(ctx context.Context, b *board, request input.Request, values *objects.Values) (err error) {
	b.begin(stepImages, "inspecting images")
	values.NodeImage, err = s.nodeImage(ctx, request, values.KubernetesVersion)
	if err != nil {
		return err
	}
	values.LoadBalancerImage, err = s.loadBalancerImage(ctx, request)
	if err != nil {
		return err
	}
	for _, image := range []struct {
		use       images.Use
		reference string
	}{{images.Node, values.NodeImage}, {images.LoadBalancer, values.LoadBalancerImage}} {
		if err := s.ensureImage(ctx, b, image.use, image.reference); err != nil {
			return err
		}
	}
	b.finished(stepImages, values.NodeImage+", "+values.LoadBalancerImage)
	return nil
}

func (s *session) nodeImage(ctx context.Context, request input.Request, version string) (string, error) {
	return images.Choose(ctx, s.engine, images.Wish{
		Use: images.Node, Named: request.Image, Registry: request.Registry, KubernetesVersion: version,
	})
}

func (s *session) loadBalancerImage(ctx context.Context, request input.Request) (string, error) {
	return images.Choose(ctx, s.engine, images.Wish{
		Use: images.LoadBalancer, Named: request.LoadBalancerImage, Registry: request.Registry,
	})
}

// decideNode asks the node image what it is, before anything is made of it.
func (s *session) decideNode(ctx context.Context, _ *board, request input.Request, values *objects.Values) error {
	read, err := s.readNodeImage(ctx, values.NodeImage)
	if err != nil {
		return err
	}
	if err := checkNodeImage(values.NodeImage, read, values.KubernetesVersion); err != nil {
		return err
	}
	values.CNIManifest, err = podNetwork(request.CNI, read, values.PodCIDR)
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
func (s *session) readNodeImage(ctx context.Context, name string) (read images.NodeImage, err error) {
	image, err := s.engine.InspectImage(ctx, name)
	if err != nil {
		return read, fmt.Errorf("inspect node image %q: %w", name, err)
	}
	if s.state.NodeImage(image.ID, &read) {
		return read, nil
	}
	if read, err = images.ReadNode(ctx, s.engine, name); err != nil {
		return read, err
	}
	s.unsaved(s.state.SaveNodeImage(image.ID, read))
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
