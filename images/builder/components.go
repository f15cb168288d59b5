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

package main

import (
	"fmt"
	"strings"
)

// kubernetesModule is what the images of the control plane, the node's tools
// and the node image's tag take their version from.
const kubernetesModule = "k8s.io/kubernetes"

// components are the programs of the images, one artifact each.
type components struct {
	kubernetes, containerd, runc, criTools, cniPlugins *artifact
	flannel, etcd, coredns, registry                   *artifact
	// kubernetesVersion is like v1.36.3.
	kubernetesVersion string
	// suffix of the names of artifacts that differ by version: the cache
	// keeps one of each name.
	suffix string
}

// previousKubernetes is the directory of the Kubernetes that clusters are
// upgraded from.
const previousKubernetes = "kubernetes-previous"

// withPrevious are the same components but for an older Kubernetes.
func (c *components) withPrevious(b *builder) (*components, error) {
	version, err := b.moduleVersion(previousKubernetes, kubernetesModule)
	if err != nil {
		return nil, err
	}
	program := kubernetesProgram(version)
	program.name = previousKubernetes
	previous := *c
	previous.kubernetesVersion, previous.suffix = version, "-previous"
	previous.kubernetes, err = program.artifact(b)
	return &previous, err
}

func (b *builder) components() (*components, error) {
	version, err := b.moduleVersion("kubernetes", kubernetesModule)
	if err != nil {
		return nil, err
	}
	c := &components{kubernetesVersion: version}
	for _, item := range []struct {
		target  **artifact
		program program
	}{
		{&c.kubernetes, kubernetesProgram(version)},
		{&c.containerd, program{
			name: "containerd", packages: []string{"tool"},
			// The snapshotters that nothing here selects, as in kind's image.
			tags: []string{"no_btrfs", "no_devmapper", "no_zfs"},
		}},
		{&c.runc, program{
			name: "runc", packages: []string{"tool"}, needsC: true,
			// Without seccomp every Pod of the control plane is refused.
			tags: []string{"seccomp", "netgo", "osusergo", "urfave_cli_no_docs"},
		}},
		{&c.criTools, program{name: "cri-tools", packages: []string{"tool"}}},
		{&c.cniPlugins, program{name: "cni-plugins", packages: []string{"tool"}}},
		{&c.flannel, program{name: "flannel", packages: []string{"."}, renames: map[string]string{"flannel": "flanneld"}}},
		{&c.etcd, program{name: "etcd", packages: []string{"tool"}, renames: map[string]string{"server": "etcd"}}},
		{&c.coredns, program{name: "coredns", packages: []string{"."}}},
		{&c.registry, program{name: "registry", packages: []string{"."}}},
	} {
		if *item.target, err = item.program.artifact(b); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// kubernetesProgram sets the version that the programs report: kubeadm and the
// API refuse to work together if they do not know theirs.
func kubernetesProgram(version string) program {
	return program{
		name: "kubernetes", packages: []string{"tool"}, ldflags: versionFlags("k8s.io/component-base/version", version),
		tags: kubernetesTags(),
	}
}

// kubernetesTags are those of Kubernetes' own builds: gRPC's tracing keeps the linker
// from leaving out methods that nothing calls.
func kubernetesTags() []string { return []string{"grpcnotrace"} }

// versionFlags tell the linker a version like v1.36.3, for a package that has
// the variables of Kubernetes' builds.
func versionFlags(pkg, version string) []string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var ldflags []string
	for _, pair := range [][2]string{
		{"gitVersion", version}, {"gitMajor", major}, {"gitMinor", minor},
		{"gitTreeState", "clean"}, {"gitCommit", "module"},
	} {
		ldflags = append(ldflags, "-X", fmt.Sprintf("%s.%s=%s", pkg, pair[0], pair[1]))
	}
	return ldflags
}
