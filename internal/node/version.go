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

package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// The range of Kubernetes versions whose kubeadm and kubelet are known to
// work in the containers of this release.
const (
	oldestMinor = 34
	newestMinor = 37
)

// DefaultVersion is used where no version is requested: the one that the
// images built from source have.
const DefaultVersion = "v1.36.3"

// Where node images come from.
const (
	// published is the repository of kind's own images.
	published = "docker.io/kindest/node@"
	// built is where "make images" puts those that it builds. The first part
	// keeps both engines from asking a registry.
	built = "localhost/capcon/node:"
)

// knownImages are the node images that a version without an image stands for.
var knownImages = map[string]string{
	// What the release of kind whose files our own image has was published
	// with, by digest: it stays what it was.
	"v1.36.4":  published + "sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed",
	"v1.35.8":  published + "sha256:07b2536e30b803ed61d1677a79df6115f798ce64c80f9e22f6ed45afd09323c0",
	"v1.34.11": published + "sha256:44e222ee2132dab25ff87301682f89eb82c7880ea3a1bf543bfe9708fd08d67d",
	// What is built from source. No registry has it.
	"v1.37.2": built + "v1.37.2",
	"v1.36.3": built + "v1.36.3",
	"v1.35.4": built + "v1.35.4",
	"v1.34.4": built + "v1.34.4",
}

// VersionError says that a Kubernetes version cannot be run.
type VersionError struct {
	// Version of the input.
	Version string
	// Problem with it.
	Problem string
}

// Error names the versions that are known.
func (e *VersionError) Error() string {
	return fmt.Sprintf("Kubernetes version %q %s; known versions: %s", e.Version, e.Problem, strings.Join(KnownVersions(), ", "))
}

// KnownVersions lists the versions a node image is known for, newest first.
func KnownVersions() []string {
	versions := make([]string, 0, len(knownImages))
	for version := range knownImages {
		versions = append(versions, version)
	}
	slices.SortFunc(versions, func(a, b string) int {
		return semver.MustParse(b[1:]).Compare(semver.MustParse(a[1:]))
	})
	return versions
}

// Minor returns 36 for v1.36.3. A version that is malformed, older than
// v1.34 or newer than known: *VersionError.
func Minor(version string) (int, error) {
	parsed, err := semver.ParseTolerant(version)
	switch {
	case err != nil || !strings.HasPrefix(version, "v"):
		return 0, &VersionError{Version: version, Problem: "is not of the form v1.2.3"}
	case parsed.Major != 1 || parsed.Minor < oldestMinor:
		return 0, &VersionError{Version: version, Problem: fmt.Sprintf("is older than v1.%d, the oldest supported version", oldestMinor)}
	case parsed.Minor > newestMinor:
		return 0, &VersionError{Version: version, Problem: fmt.Sprintf("is newer than v1.%d, the newest supported version", newestMinor)}
	}
	return int(parsed.Minor), nil
}

// BuiltImage returns the name that the node image of a version has where it is
// built from source.
func BuiltImage(version string) string { return built + version }

// Image returns the node image known for a version. None: *VersionError.
func Image(version string) (string, error) {
	if _, err := Minor(version); err != nil {
		return "", err
	}
	image, known := knownImages[version]
	if !known {
		return "", &VersionError{Version: version, Problem: "has no default node image"}
	}
	return image, nil
}
