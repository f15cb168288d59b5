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
	"errors"
	"strings"
)

// kubernetesModule is what the images of the control plane, the node's tools
// and the node image's tag take their version from.
const kubernetesModule = "k8s.io/kubernetes"

// components are the programs of the images, one artifact each.
type components struct {
	kubernetes, containerd, runc, criTools, cniPlugins *artifact
	flannel, etcd, coredns, registry                   *artifact
	// plane has kube-apiserver and kube-controller-manager as one program.
	plane *artifact
	// kubernetesVersion is like v1.36.3.
	kubernetesVersion string
	// suffix of the names of artifacts that differ by version: the cache
	// keeps one of each name.
	suffix string
}

// other are the same components but for another Kubernetes, that of the directory with
// the suffix.
func (c components) other(b *builder, suffix string) (*components, error) {
	directory := nodeKubernetes + suffix
	version, err := b.moduleVersion(directory, kubernetesModule)
	if err != nil {
		return nil, err
	}
	program := kubernetesProgram(version)
	program.name = directory
	c.kubernetesVersion, c.suffix = version, suffix
	c.kubernetes, err = program.artifact(b)
	return &c, err
}

func (b *builder) components(libraries *artifact) (*components, error) {
	version, err := b.moduleVersion("kubernetes", kubernetesModule)
	if err != nil {
		return nil, err
	}
	var errs []error
	built := func(p program) *artifact {
		a, err := p.artifact(b)
		errs = append(errs, err)
		return a
	}
	c := &components{
		kubernetesVersion: version,
		kubernetes:        built(kubernetesProgram(version)),
		containerd: built(program{
			name: "containerd", packages: []string{"tool"},
			// The snapshotters that nothing here selects, as in kind's image.
			tags: []string{"no_btrfs", "no_devmapper", "no_zfs"},
		}),
		runc: built(program{
			name: "runc", packages: []string{"tool"}, needsC: true, libraries: libraries,
			// Without seccomp every Pod of the control plane is refused.
			tags: []string{"seccomp", "netgo", "osusergo", "urfave_cli_no_docs"},
		}),
		criTools:   built(program{name: "cri-tools", packages: []string{"tool"}}),
		cniPlugins: built(program{name: "cni-plugins", packages: []string{"tool"}}),
		flannel:    built(program{name: "flannel", packages: []string{"."}, renames: map[string]string{"flannel": "flanneld"}}),
		etcd:       built(program{name: "etcd", packages: []string{"tool"}, renames: map[string]string{"server": "etcd"}}),
		coredns:    built(program{name: "coredns", packages: []string{"."}}),
		registry:   built(program{name: "registry", packages: []string{"."}}),
		plane:      built(planeProgram(version)),
	}
	return c, errors.Join(errs...)
}

// kubernetesProgram sets the version that the programs report: kubeadm and the
// API refuse to work together if they do not know theirs.
func kubernetesProgram(version string) program {
	return program{
		name: "kubernetes", packages: []string{"tool"}, ldflags: versionFlags("k8s.io/component-base/version", version),
		tags: kubernetesTags(),
	}
}

// planeProgram has the garbage collector's pace and both programs of the management plane.
func planeProgram(version string) program {
	p := kubernetesProgram(version)
	p.name, p.module, p.packages = "plane", p.name, []string{"./plane"}
	p.sources, p.renames = []string{"plane", "collector"}, map[string]string{"plane": "kubernetes"}
	return p
}

// kubernetesTags are those of Kubernetes' own builds: gRPC's tracing keeps the linker
// from leaving out methods that nothing calls.
func kubernetesTags() []string { return []string{"grpcnotrace"} }

// versionFlags make the linker set a version like v1.36.3, for a package that has
// the variables of Kubernetes' builds.
func versionFlags(pkg, version string) []string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var ldflags []string
	for _, variable := range []string{
		"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor, "gitTreeState=clean", "gitCommit=module",
	} {
		ldflags = append(ldflags, "-X", pkg+"."+variable)
	}
	return ldflags
}
