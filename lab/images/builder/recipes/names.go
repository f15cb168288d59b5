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
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// What clusters are upgraded from has the suffix -previous, and what they are upgraded to
// -next: the node image, and the kube-proxy in it, which nodes of the next version still
// run until all control planes have that version. Only tests need them, and each takes as
// long as all others.
const (
	nodeName = "node"
	// nodeKubernetes begins the names of their directories.
	nodeKubernetes = "kubernetes"
	proxyName      = "kube-proxy"
	nextSuffix     = "-next"
	// oldestSuffix ends the name of the node image of the oldest supported Kubernetes.
	oldestSuffix = "-oldest"
	// planeName is the image of management planes, and planeMemoryName that of those whose clusters are in memory, which no
	// release has.
	planeName       = "plane"
	planeMemoryName = "plane-memory"
)

// NodeOf is the node image of a version of Kubernetes.
func NodeOf(images fs.FS, version string) (string, error) {
	var versions []string
	for _, suffix := range []string{"", previousSuffix, nextSuffix, oldestSuffix} {
		found, err := build.RequiredVersion(images, nodeKubernetes+suffix, kubernetesModule)
		if err != nil {
			return "", err
		}
		if found == version {
			return nodeName + suffix, nil
		}
		versions = append(versions, found)
	}
	return "", fmt.Errorf("no node image of Kubernetes %s can be built; use one of %s", version, strings.Join(versions, ", "))
}

// AllNames are the images that can be asked for, in the order of the help.
func AllNames() []string {
	return slices.Concat(imageNames(), []string{nodeName + previousSuffix, proxyName + previousSuffix, nodeName + nextSuffix, nodeName + oldestSuffix}, managementNames(), previousManagementNames(), conformanceNames(),
		[]string{planeMemoryName, planeName + ReleaseSuffix, planeMemoryName + ReleaseSuffix, managerName + ReleaseSuffix})
}

// Groups are names for several images.
func Groups() map[string][]string {
	return map[string][]string{
		"management": managementNames(), "management-previous": previousManagementNames(),
		"conformance-tests": conformanceNames(), "release": releaseNames(),
	}
}

// Expand returns the images that are asked for, by their own names or their groups'.
func Expand(arguments []string) ([]string, error) {
	if len(arguments) == 0 {
		return imageNames(), nil
	}
	var names []string
	for _, argument := range arguments {
		group, found := Groups()[argument]
		switch {
		case found:
			names = append(names, group...)
		case slices.Contains(AllNames(), argument):
			names = append(names, argument)
		default:
			return nil, fmt.Errorf("no image %q: there are %s", argument, strings.Join(AllNames(), ", "))
		}
	}
	return names, nil
}

// imageNames are the images that are built where none is asked for.
func imageNames() []string {
	return []string{nodeName, "haproxy", planeName, "registry", metricsServer}
}
