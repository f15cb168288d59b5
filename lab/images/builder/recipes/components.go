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
	"errors"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// kubernetesModule is what the images of the control plane, the node's tools
// and the node image's tag take their version from.
const kubernetesModule = "k8s.io/kubernetes"

// components are the programs of the images, one artifact each.
type components struct {
	kubernetes, containerd, runc, criTools, cniPlugins *build.Artifact
	flannel, etcd, coredns, registry                   *build.Artifact
	// plane has kube-apiserver and kube-controller-manager as one program.
	plane *build.Artifact
	// kubernetesVersion is like v1.36.3.
	kubernetesVersion string
	// suffix of the names of artifacts that differ by version: the cache
	// keeps one of each name.
	suffix string
}

// other are the same components but for another Kubernetes, that of the directory with
// the suffix.
func (c components) other(b *build.Builder, suffix string) (*components, error) {
	directory := nodeKubernetes + suffix
	version, err := b.ModuleVersion(directory, kubernetesModule)
	if err != nil {
		return nil, err
	}
	program := kubernetesProgram(version)
	program.Name = directory
	c.kubernetesVersion, c.suffix = version, suffix
	c.kubernetes, err = program.Artifact(b)
	return &c, err
}

// newComponents takes programs with parts in C from a directory of libraries, for a foreign platform.
func newComponents(b *build.Builder, libraries *build.Artifact) (*components, error) {
	version, err := b.ModuleVersion("kubernetes", kubernetesModule)
	if err != nil {
		return nil, err
	}
	var errs []error
	built := func(p build.Program) *build.Artifact {
		a, err := p.Artifact(b)
		errs = append(errs, err)
		return a
	}
	c := &components{
		kubernetesVersion: version,
		kubernetes:        built(kubernetesProgram(version)),
		containerd: built(build.Program{
			Name: "containerd", Packages: []string{"tool"},
			// The snapshotters that nothing here selects, as in kind's image.
			Tags: []string{"no_btrfs", "no_devmapper", "no_zfs"},
		}),
		runc: built(build.Program{
			Name: "runc", Packages: []string{"tool"}, NeedsC: true, Libraries: libraries,
			// Without seccomp every Pod of the control plane is refused.
			Tags: []string{"seccomp", "netgo", "osusergo", "urfave_cli_no_docs"},
		}),
		criTools:   built(build.Program{Name: "cri-tools", Packages: []string{"tool"}}),
		cniPlugins: built(build.Program{Name: "cni-plugins", Packages: []string{"tool"}}),
		flannel:    built(build.Program{Name: "flannel", Packages: []string{"."}, Renames: map[string]string{"flannel": "flanneld"}}),
		etcd:       built(build.Program{Name: "etcd", Packages: []string{"tool"}, Renames: map[string]string{"server": "etcd"}}),
		coredns:    built(build.Program{Name: "coredns", Packages: []string{"."}}),
		registry:   built(build.Program{Name: "registry", Packages: []string{"."}}),
		plane:      built(planeProgram(version)),
	}
	return c, errors.Join(errs...)
}

// kubernetesProgram sets the version that the programs report: kubeadm and the
// API refuse to work together if they do not know theirs.
func kubernetesProgram(version string) build.Program {
	return build.Program{
		Name: "kubernetes", Packages: []string{"tool"}, Ldflags: versionFlags("k8s.io/component-base/version", version),
		Tags: kubernetesTags(),
	}
}

// planeProgram has the garbage collector's pace and both programs of the management plane.
func planeProgram(version string) build.Program {
	p := kubernetesProgram(version)
	p.Name, p.Module, p.Packages = "plane", p.Name, []string{"./plane"}
	p.Sources, p.Renames = []string{"plane", "collector"}, map[string]string{"plane": "kubernetes"}
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
