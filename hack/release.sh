#!/usr/bin/env bash
# Copyright 2026 The cluster-api-provider-container Authors.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

# Makes all files of a release: what clusterctl takes, capcon for all systems, the images
# that no registry has, SBOMs, notes and checksums. The directory has the layout of a local
# repository of clusterctl. Nothing is published. The same commit gives the same files, if
# the cache of images is the same.
#
#   hack/release.sh
#
# Environment:
#   VERSION        the tag of the commit, such as v0.1.0 or v0.1.0-rc.1. The clone must have
#                  no changes, and Go must be the version that the workflows use. A trial
#                  from any other source has a version that says so: v0.1.0-dirty
#   RELEASE_IMAGE  of the manager in a registry, pinned: REGISTRY/NAME@sha256:DIGEST;
#                  default: the one of the archive, localhost/capcon/manager:VERSION
#   PLATFORMS      that a trial builds capcon for, such as "linux/amd64"; default: all
#   RELEASE_DIR    below it the files are at infrastructure-container/VERSION;
#                  default: _artifacts/release

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  local directory
  [[ -n "${VERSION:-}" ]] || die "VERSION is not set." "Run: make release VERSION=v0.1.0"
  go run ./hack/release -version "${VERSION}" -platforms "${PLATFORMS:-}" -check
  directory="$(realpath --canonicalize-missing "${RELEASE_DIR:-_artifacts/release}/infrastructure-container/${VERSION}")"
  rm -rf "${directory}" # what a run before left would be in the checksums
  RELEASE_VERSION="${VERSION}" RELEASE_IMAGE="${RELEASE_IMAGE:-localhost/capcon/manager:${VERSION}}" hack/release-manifests.sh
  go -C lab/images/builder run . -version "${VERSION}" -output "${directory}" release
  go run ./hack/release -version "${VERSION}" -platforms "${PLATFORMS:-}" -commit "$(commit)" -date "$(git log -1 --format=%ct)" "${directory}"
  (export LC_ALL=C && cd "${directory}" && sums="$(sha256sum ./*)" && sed 's,\./,,' <<<"${sums}" >checksums.txt)
  say "${directory} has $(cd "${directory}" && echo *)."
}

main "$@"
