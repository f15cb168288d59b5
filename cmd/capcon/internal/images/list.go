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
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

// Report is an image that clusters are made of.
type Report struct {
	Use string `json:"use"`
	// KubernetesVersion of a node image.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	Reference         string `json:"reference"`
	// Present: the engine has it. Otherwise it is pulled when it is needed,
	// unless it is one that is built from source.
	Present   bool  `json:"present"`
	SizeBytes int64 `json:"sizeBytes,omitempty"`
}

// List of what a new cluster is made of, and of node images of other
// versions of Kubernetes that are there. Load balancer first: it is the
// smallest.
func List(ctx context.Context, e Inspector) ([]Report, error) {
	requests := []Request{
		{Use: LoadBalancer}, {Use: Plane}, {Use: Node, KubernetesVersion: input.DefaultKubernetes()},
	}
	for _, version := range node.KnownVersions() {
		if version != input.DefaultKubernetes() {
			requests = append(requests, Request{Use: Node, KubernetesVersion: version})
		}
	}
	var found []Report
	for _, request := range requests {
		one, err := report(ctx, e, request)
		if err != nil {
			return nil, err
		}
		if one.Present || request.KubernetesVersion == "" || request.KubernetesVersion == input.DefaultKubernetes() {
			found = append(found, one)
		}
	}
	return found, nil
}

func report(ctx context.Context, e Inspector, request Request) (Report, error) {
	reference, err := Choose(ctx, e, request)
	if err != nil {
		return Report{}, err
	}
	result := Report{Use: string(request.Use), KubernetesVersion: request.KubernetesVersion, Reference: reference}
	image, found, err := Find(ctx, e, reference)
	result.Present, result.SizeBytes = found, image.SizeBytes
	return result, err
}

// Table of images for users, whose columns are separated by tabs.
func Table(reports []Report) []string {
	const megabyte = 1 << 20
	lines := []string{"IMAGE FOR\tREFERENCE\tSTATE"}
	for _, image := range reports {
		state := "missing; pulled on demand"
		if reference, err := adapter.ParseReference(image.Reference); image.Present {
			state = fmt.Sprintf("present, %d MiB", image.SizeBytes/megabyte)
		} else if err == nil && reference.LocalOnly() {
			state = "missing, and not in a registry: " + LoadCommand(Use(image.Use), release.Version())
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s", strings.TrimSpace(image.Use+" "+image.KubernetesVersion), image.Reference, state))
	}
	return lines
}
