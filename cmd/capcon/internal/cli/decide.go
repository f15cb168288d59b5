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
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/templates"
)

// decidePresent reads the cluster that exists and decides its desired
// state.
func (s *session) decidePresent(ctx context.Context, b *board, request input.Request) (objects.Values, error) {
	present, err := s.read(ctx, request.Name)
	if err != nil {
		return objects.Values{}, err
	}
	if present.Deleting {
		return objects.Values{}, fmt.Errorf("cluster %q is being deleted; wait for it with \"%s down %s\"",
			request.Name, s.Program, request.Name)
	}
	if err := checkChange(present, request); err != nil {
		return objects.Values{}, err
	}
	values, err := s.decide(ctx, b, request, present)
	if err == nil && present.WithoutClass {
		err = checkWithoutClass(present, values)
	}
	if err != nil {
		return objects.Values{}, err
	}
	err = s.decideProxy(ctx, b, present, &values)
	return values, err
}

// checkWithoutClass refuses to change a cluster that has no ClusterClass: its
// control plane and workers are objects of their own, which a topology would
// recreate instead of adopting them.
func checkWithoutClass(present management.Present, wanted objects.Values) error {
	changes := []struct {
		flag, value string
		changes     bool
	}{
		{"--control-planes", strconv.Itoa(int(wanted.ControlPlanes)), present.ControlPlanes != wanted.ControlPlanes},
		{"--workers", strconv.Itoa(int(wanted.Workers)), present.Workers != wanted.Workers},
		{"--kubernetes-version", wanted.KubernetesVersion, present.KubernetesVersion != wanted.KubernetesVersion},
		{"--image", wanted.NodeImage, present.NodeImage != wanted.NodeImage},
		{"--load-balancer-image", wanted.LoadBalancerImage, present.LoadBalancerImage != wanted.LoadBalancerImage},
		{"--cpus", wanted.Resources.CPU.String(), wanted.Resources.CPU != nil},
		{"--memory", wanted.Resources.Memory.String(), wanted.Resources.Memory != nil},
		{"--cni", "another manifest", present.CNIManifest != wanted.CNIManifest},
	}
	var problems []input.Problem
	for _, change := range changes {
		if change.changes {
			problems = append(problems, input.Problem{
				Field: change.flag, Value: change.value,
				Reason: "the cluster was created without a ClusterClass by an earlier release, and cannot be changed with this flag",
				Remedy: "edit its KubeadmControlPlane and MachineDeployment in the management plane, or create another cluster",
			})
		}
	}
	return input.Refuse(problems...)
}

// decide the desired state of the cluster: its present state, changed by what was
// requested, and completed by defaults. Images are on the engine afterwards.
func (s *session) decide(
	ctx context.Context, b *board, request input.Request, present management.Present,
) (objects.Values, error) {
	present.Namespace, present.Name = namespace, request.Name
	values := merge(present, request)
	steps := []func(context.Context, *board, input.Request, management.Present, *objects.Values) error{
		s.decideImages, s.decideNode, s.decideRanges,
	}
	for _, step := range steps {
		if err := step(ctx, b, request, present, &values); err != nil {
			return objects.Values{}, err
		}
	}
	manifest, err := images.RenderCNI(values.CNIManifest, values.PodCIDR)
	values.CNIManifest = manifest
	return values, err
}

// checkChange refuses what an existing cluster cannot change.
func checkChange(present management.Present, request input.Request) error {
	if !present.Exists {
		return nil
	}
	problems := input.CheckUpgrade(present.KubernetesVersion, request.KubernetesVersion)
	fixed := []struct{ flag, present, wanted string }{
		{"--network", present.Network, request.Network},
		{"--pod-cidr", present.PodCIDR, request.PodCIDR},
		{"--service-cidr", present.ServiceCIDR, request.ServiceCIDR},
	}
	for _, field := range fixed {
		if field.wanted != "" && field.present != "" && field.wanted != field.present {
			problems = append(problems, input.Problem{
				Field: field.flag, Value: field.wanted,
				Reason: "immutable, the cluster has " + field.present,
				Remedy: "omit the flag, or create another cluster",
			})
		}
	}
	return input.Refuse(problems...)
}

// merge lays what was asked for over what there is.
func merge(present management.Present, request input.Request) objects.Values {
	values := present.Values
	if !present.HasControlPlane {
		values.ControlPlanes = 1
	}
	if !present.HasWorkers {
		values.Workers = 1
	}
	if request.ControlPlanes != nil {
		values.ControlPlanes = int32(*request.ControlPlanes) //nolint:gosec // validated to be small
	}
	if request.Workers != nil {
		values.Workers = int32(*request.Workers) //nolint:gosec // validated to be small
	}
	// Pods have no other node. Workers that are added later do not change it: the control
	// planes would be replaced.
	if !present.Exists && values.Workers == 0 {
		values.AllowSchedulingOnControlPlanes = true
	}
	if request.KubernetesVersion != "" && request.KubernetesVersion != values.KubernetesVersion {
		values.KubernetesVersion = request.KubernetesVersion
		values.NodeImage = "" // it was one of the other version
	}
	values.KubernetesVersion = cmp.Or(values.KubernetesVersion, input.DefaultKubernetes())
	values.Network = cmp.Or(request.Network, values.Network, network.DefaultName)
	asked := requestedResources(request)
	values.Resources.CPU = cmp.Or(asked.CPU, values.Resources.CPU)
	values.Resources.Memory = cmp.Or(asked.Memory, values.Resources.Memory)
	values.PodCIDR = cmp.Or(request.PodCIDR, values.PodCIDR)
	values.ServiceCIDR = cmp.Or(request.ServiceCIDR, values.ServiceCIDR, input.DefaultServiceCIDR)
	return values
}

// decideImages chooses the images and fetches those the engine lacks: here
// the user's credentials are known, in the management plane they are not.
func (s *session) decideImages(
	ctx context.Context, b *board, request input.Request, _ management.Present, values *objects.Values,
) error {
	chosen := []struct {
		wish images.Wish
		into *string
	}{
		{images.Wish{
			Use: images.Node, Named: request.Image, Registry: request.Registry, KubernetesVersion: values.KubernetesVersion,
		}, &values.NodeImage},
		{images.Wish{Use: images.LoadBalancer, Named: request.LoadBalancerImage, Registry: request.Registry}, &values.LoadBalancerImage},
	}
	b.waiting(stepImages, "inspecting images")
	for _, image := range chosen {
		if *image.into == "" || image.wish.Named != "" || image.wish.Registry != "" {
			reference, err := images.Choose(ctx, s.engine, image.wish)
			if err != nil {
				return err
			}
			*image.into = reference
		}
		if err := s.ensureImage(ctx, b, image.wish.Use, *image.into); err != nil {
			return err
		}
	}
	b.finished(stepImages, values.NodeImage+", "+values.LoadBalancerImage)
	return nil
}

// decideNode asks the node image what it is, before anything is made of it.
func (s *session) decideNode(
	ctx context.Context, _ *board, request input.Request, present management.Present, values *objects.Values,
) error {
	keepCNI := request.CNI == "" && present.Exists && (present.CNIManifest != "" || present.WithoutCNI)
	if keepCNI && present.NodeImage == values.NodeImage {
		return nil // nothing changes that the image has a say in
	}
	read, err := s.readNodeImage(ctx, values.NodeImage)
	if err != nil {
		return err
	}
	if read.KubernetesVersion != "" && read.KubernetesVersion != values.KubernetesVersion {
		return &input.Error{Problems: []input.Problem{{
			Field: "--image", Value: values.NodeImage,
			Reason: fmt.Sprintf("has Kubernetes %s instead of %s", read.KubernetesVersion, values.KubernetesVersion),
			Remedy: "use --kubernetes-version " + read.KubernetesVersion + ", or another image",
		}}}
	}
	if keepCNI {
		return nil
	}
	values.CNIManifest, err = chooseCNI(request.CNI, read)
	return err
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
	return read, s.state.SaveNodeImage(image.ID, read)
}

// chooseCNI returns the manifest that was asked for. Without a wish it is the
// node image's own, because only that image's Pods find their images in it.
func chooseCNI(wish string, image images.NodeImage) (string, error) {
	switch wish {
	case input.CNINone:
		return "", nil
	case input.CNIFlannel:
		return templates.Flannel, nil
	case "", input.CNIAuto:
		return cmp.Or(image.CNIManifest, templates.Flannel), nil
	}
	text, err := os.ReadFile(wish)
	if err != nil {
		return "", fmt.Errorf("read CNI manifest: %w", err)
	}
	return string(text), nil
}

// decideRanges keeps the cluster's address ranges away from the engine's
// subnet: Nodes could not reach each other, or nothing else.
func (s *session) decideRanges(
	ctx context.Context, _ *board, request input.Request, present management.Present, values *objects.Values,
) error {
	if present.Exists && values.PodCIDR != "" {
		return nil // cannot change any more
	}
	subnets, err := s.subnets(ctx, values.Network)
	if err != nil {
		return err
	}
	var problems []input.Problem
	check := func(flag, given string) {
		prefix, err := netip.ParsePrefix(given)
		if err != nil {
			return // not given
		}
		if other := input.Overlapping(prefix, subnets); other.IsValid() {
			problems = append(problems, input.Problem{
				Field: flag, Value: given, Reason: fmt.Sprintf("overlaps subnet %s of network %q", other, values.Network),
				Remedy: "use another range",
			})
		}
	}
	check("--service-cidr", values.ServiceCIDR)
	check("--pod-cidr", request.PodCIDR)
	if err := input.Refuse(problems...); err != nil || values.PodCIDR != "" {
		return err
	}
	services, err := netip.ParsePrefix(values.ServiceCIDR)
	if err != nil {
		return fmt.Errorf("parse Service CIDR: %w", err)
	}
	pods := input.AvoidSubnets(append(subnets, services))
	if !pods.IsValid() {
		return errors.New("no free address range for Pods found; use --pod-cidr")
	}
	values.PodCIDR = pods.String()
	return nil
}

// subnets of the engine's network; none where it does not exist yet.
func (s *session) subnets(ctx context.Context, network string) ([]netip.Prefix, error) {
	found, err := s.engine.InspectNetwork(ctx, network)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inspect network %q: %w", network, err)
	}
	var subnets []netip.Prefix
	for _, subnet := range found.Subnets {
		subnets = append(subnets, subnet.Prefix)
	}
	return subnets, nil
}
