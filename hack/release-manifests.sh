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

# Writes what a release consists of for clusterctl: the components, the metadata, the
# cluster templates and the ClusterClasses, and runtime-extension.yaml, which is opt-in. The directory has the layout of a local
# repository of clusterctl, so that a release can be tried before it is one.
#
#   hack/release-manifests.sh
#
# Environment:
#   RELEASE_VERSION  default: the tag of the commit, or a version that is no release,
#                    the last series of metadata.yaml with the patch 99
#   RELEASE_IMAGE    of the manager, pinned: REGISTRY/NAME@sha256:DIGEST; default: the
#                    one that "make images-load IMAGES=manager" builds, which no registry has
#   RELEASE_OVERLAY  what the components are built from; default: config/default, which
#                    has no way to an engine, and config/docker-socket and podman-socket
#                    have one
#   RELEASE_DIR      below it the files are at infrastructure-container/<version>;
#                    default: _artifacts/release

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly provider=infrastructure-container

main() {
  local version image into scratch
  version="${RELEASE_VERSION:-$(default_version)}"
  check_version "${version}"
  image="${RELEASE_IMAGE:-localhost/capcon/manager:dev}"
  check_image "${image}"
  into="${RELEASE_DIR:-_artifacts/release}/${provider}/${version}"
  mkdir -p "$(dirname "${into}")" _artifacts
  # In place only when it is whole. kustomize finds its bases by relative paths.
  scratch="$(mktemp --directory _artifacts/release.XXXXXX)"
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '${root}/${scratch}'" EXIT
  mkdir "${scratch}/files"
  components "${scratch}" "${image}" >"${scratch}/files/infrastructure-components.yaml"
  "$(tool kustomize)" build config/runtime-extension >"${scratch}/files/runtime-extension.yaml"
  cp metadata.yaml templates/*.yaml "${scratch}/files"
  rm -rf "${into}"
  mv "${scratch}/files" "${into}"
  say "${into} has $(cd "${into}" && echo *)."
}

# series lists the releases that metadata.yaml knows, such as 0.1.
series() { awk '$1 == "-" && $2 == "major:" {major = $3} $1 == "minor:" {print major "." $2}' metadata.yaml; }

default_version() {
  git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null || echo "v$(series | tail --lines 1).99"
}

check_version() {
  local version="$1"
  [[ "${version}" =~ ^v([0-9]+\.[0-9]+)\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    die "${version} is no version." "Give RELEASE_VERSION as in v0.1.0 or v0.1.0-rc.1."
  series | grep --quiet --line-regexp --fixed-strings "${BASH_REMATCH[1]}" ||
    die "metadata.yaml has no series ${BASH_REMATCH[1]}, without which clusterctl refuses ${version}." "Add it there."
}

# check_image: the manager may get the engine's socket, so a tag that can be moved
# is not enough.
check_image() {
  [[ "$1" =~ ^localhost/[^@]+:[^/@]+$ || "$1" =~ ^[^/@]*[.:][^/@]*/[^@]+@sha256:[0-9a-f]{64}$ ]] ||
    die "The image $1 is not pinned." "Give RELEASE_IMAGE as REGISTRY/NAME@sha256:DIGEST, or as localhost/NAME:TAG."
}

# components prints what config/default is made of, with the image.
components() {
  local scratch="$1" image="$2" kustomize name pin
  kustomize="$(tool kustomize)"
  name="${image%:*}" pin="newTag: ${image##*:}"
  if [[ "${image}" == *@* ]]; then
    name="${image%@*}" pin="digest: ${image##*@}"
  fi
  cat >"${scratch}/kustomization.yaml" <<EOF
resources:
  - ../../${RELEASE_OVERLAY:-config/default}
images:
  - name: localhost/capcon/manager
    newName: ${name}
    ${pin}
EOF
  "${kustomize}" build "${scratch}"
}

main "$@"
