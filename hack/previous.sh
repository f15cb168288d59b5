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

# Builds what the tests of upgrades begin with, from an earlier commit of the repository's
# history, and prints the directory that has it, once for each commit and engine. WHAT is
#
#   capcon   the command as capcon and the image of its plane as plane.tar
#   manager  the manager's image as manager.tar, under the name
#            localhost/capcon/manager:previous, and in infrastructure-container/v0.1.98
#            a release with it
#
#   hack/previous.sh WHAT
#
# Environment:
#   ENGINE  docker, podman or auto (default)
#   FROM    commit; default: that of the last release. Clusters of all commits since
#           8232a0621dc4 must survive an upgrade

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# v0.1.0, by its commit: not each clone has tags.
readonly from="${FROM:-edbcd86b7094}"
readonly image="localhost/capcon/manager:previous"

main() {
  local what="${1:-}" directory scratch
  [[ "${what}" == capcon || "${what}" == manager ]] || die "WHAT is \"${what}\"." "It is capcon or manager."
  use_engine
  directory="${cache}/previous/${from}/${what}-${ENGINE}"
  if [[ ! -d "${directory}" ]]; then
    git cat-file -e "${from}^{commit}" 2>/dev/null || die "The clone has no commit ${from}." "Run: git fetch --unshallow"
    mkdir -p "$(dirname "${directory}")"
    scratch="$(mktemp --directory "${directory}.XXXXXX")"
    # shellcheck disable=SC2064 # the directory of now
    trap "rm -rf '${scratch}'" EXIT
    say "Building ${what} of commit ${from}." >&2
    git archive "${from}" | tar --extract --directory "${scratch}" --one-top-level=source
    "build_${what}" "${scratch}" >&2
    rm -rf "${scratch}/source" "${scratch}/cache"
    mv --no-target-directory "${scratch}" "${directory}"
  fi
  echo "${directory}"
}

# build_capcon builds the image of the plane too. The earlier builder has a cache of its
# own, which would replace images of this checkout; Go's is shared.
build_capcon() {
  local into="$1" builder gocache
  gocache="$(go env GOCACHE)"
  builder="${into}/source/lab/images/builder"
  # Of commits up to v0.1.0.
  [[ -d "${builder}" ]] || builder="${into}/source/images/builder"
  go -C "${into}/source" build -o "${into}/capcon" ./cmd/capcon
  XDG_CACHE_HOME="${into}/cache" GOCACHE="${gocache}" go -C "${builder}" run . plane
  cp --dereference "${into}/cache/cluster-api-provider-container/images/plane.tar" "${into}/plane.tar"
}

# build_manager makes the image as the earlier commit does, and its release with the
# engine's socket, for which it has overlays but no way to choose one.
build_manager() {
  local into="$1" source="$1/source"
  go -C "${source}" build -ldflags="-s -w" -o bin/manager .
  tar --directory "${source}/bin" --create --owner=0 --group=0 manager |
    engine import --change 'ENTRYPOINT ["/manager"]' --change 'USER 65532:65532' - "${image}"
  engine image save --output "${into}/manager.tar" "${image}"
  cp hack/{lib,tool,release-manifests}.sh "${source}/hack/"
  RELEASE_DIR="${into}" RELEASE_VERSION=v0.1.98 RELEASE_IMAGE="${image}" \
    RELEASE_OVERLAY="config/${ENGINE}-socket" "${source}/hack/release-manifests.sh"
}

main "$@"
