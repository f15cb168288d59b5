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

// Package release knows which release a program is of, and whether a management cluster has
// the custom resource definitions of it. It imports no controllers: they start only once
// nothing is missing.
package release

import (
	"cmp"
	"runtime/debug"
)

// version of the release, which is linked: -ldflags "-X <this package>.version=v0.1.0".
// Empty in all other builds.
var version string

// unreleased is what "make release-manifests" calls a commit without a tag: the patch 99 of
// the newest series.
const unreleased = "v0.1.99"

// Version of the release that this program is of; empty = it is of none.
func Version() string { return version }

// Provider is the version of this provider, as clusterctl reads it.
func Provider() string { return cmp.Or(version, unreleased) }

// Tag of the images that are built of this repository's own programs.
func Tag() string { return cmp.Or(version, "dev") }

// Program is the version of this program: that of the release, the commit it was built
// from, or its module's.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	if version != "" || !ok {
		return version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return info.Main.Version
}
