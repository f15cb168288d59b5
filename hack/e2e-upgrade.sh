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

# Upgrades capcon and its management plane with a live cluster, from an earlier commit that
# is built of the repository's history.
#
#   hack/e2e-upgrade.sh
#
# Environment:
#   ENGINE  docker, podman or auto (default)
#   FROM    commit; default the first one whose clusters must survive an upgrade

set -o errexit -o nounset -o pipefail

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly from="${FROM:-8232a0621dc4}"
readonly plane="localhost/capcon/plane"

main() {
  local checkout="${cache}/previous/${from}"
  cd "${root}"
  use_engine
  git cat-file -e "${from}^{commit}" 2>/dev/null || die "The clone has no commit ${from}." "Run: git fetch --unshallow"
  if [[ ! -x "${checkout}/capcon" ]]; then
    build "${checkout}"
  fi
  engine image load --quiet --input "${checkout}/plane.tar"
  engine image tag "${plane}:dev" "${plane}:${from}"
  make images-load
  PREVIOUS_CAPCON="${checkout}/capcon" PREVIOUS_PLANE="${plane}:${from}" hack/test-quickstart.sh Upgrade
}

# build capcon and its plane's image. The earlier builder has a cache of its own, which
# would replace images of this checkout; Go's is shared.
build() {
  local checkout="$1" scratch gocache
  gocache="$(go env GOCACHE)"
  mkdir -p "$(dirname "${checkout}")"
  scratch="$(mktemp --directory "${checkout}.XXXXXX")"
  say "Building capcon and its plane of commit ${from}."
  git archive "${from}" | tar --extract --directory "${scratch}" --one-top-level=source
  go -C "${scratch}/source" build -o "${scratch}/capcon" ./cmd/capcon
  XDG_CACHE_HOME="${scratch}/cache" GOCACHE="${gocache}" go -C "${scratch}/source/images/builder" run . plane
  cp --dereference "${scratch}/cache/cluster-api-provider-container/images/plane.tar" "${scratch}/plane.tar"
  rm -rf "${scratch}/cache" "${scratch}/source" "${checkout}"
  mv "${scratch}" "${checkout}"
}

main "$@"
