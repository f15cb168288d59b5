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

package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// DefaultImage is used where none is named: haproxy 3.2.24 as Docker's official
// image, by digest for all platforms. Any haproxy from 2.6 with bash does.
const DefaultImage = "docker.io/library/haproxy@sha256:fa8c8825c5ca0e0f65c3fc2059b92e9d1735a640b2b38091823a959a64016c4f"

// BuiltImage is the one that "make images" builds and a release has as an archive. No
// registry has it.
const BuiltImage = "localhost/capcon/haproxy:2.6"

// ImageInspector finds images of an engine.
type ImageInspector interface {
	InspectImage(ctx context.Context, reference string) (engine.Image, error)
}

// ChooseImage returns the image to use where one is named: that one, but BuiltImage instead
// of DefaultImage where the engine has only that, such as without a connection to a registry.
func ChooseImage(ctx context.Context, images ImageInspector, named string) (string, error) {
	if named != DefaultImage {
		return named, nil
	}
	for _, image := range []string{DefaultImage, BuiltImage} {
		_, err := images.InspectImage(ctx, image)
		if err == nil {
			return image, nil
		}
		if !errors.Is(err, engine.ErrNotFound) {
			return "", fmt.Errorf("inspect image %q: %w", image, err)
		}
	}
	return DefaultImage, nil
}

const (
	// relayProgram of an image with RelayLabel.
	relayProgram = "capcon-relay"
	// RelayLabel says that an image has the relay, which UDP needs: that of BuiltImage.
	RelayLabel = "container.infrastructure.cluster.x-k8s.io/udp-relay"
)

// RelayImage returns the image of a load balancer with UDP: the chosen one, or BuiltImage where only that has the
// relay; empty where none has.
func RelayImage(ctx context.Context, images ImageInspector, chosen string) (string, error) {
	for _, reference := range []string{chosen, BuiltImage} {
		image, err := images.InspectImage(ctx, reference)
		if err == nil && image.Labels[RelayLabel] != "" {
			return reference, nil
		}
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return "", fmt.Errorf("inspect image %q: %w", reference, err)
		}
	}
	return "", nil
}

// hasRelay reports whether a container was created with the relay.
func hasRelay(container engine.Container) bool {
	return slices.ContainsFunc(strings.Split(container.Labels[identity.LabelPorts], ","), func(port string) bool {
		return strings.HasSuffix(port, udpSuffix)
	})
}
