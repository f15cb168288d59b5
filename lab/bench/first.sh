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

# Measures what a person waits for on a bare machine: "make quickstart" in a clone, in a root file
# system of Debian 12 that has Go, git and make, with empty caches and no engine. Downloads are those
# of that machine: Debian packages and Go modules. Nothing of this machine's user is used or changed,
# but no engine may run here: that of the root file system has the same network.
#
#   [ENGINE=docker|podman] lab/bench/first.sh
#
# Environment:
#   ROUNDS         how many, each with empty caches (default 2)
#   DEBIAN_MIRROR  default http://deb.debian.org/debian

# shellcheck source=lab/engine/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../engine/lib.sh"
# shellcheck source=lab/engine/host.sh
source "${here}/host.sh"
# shellcheck source=lab/engine/rootfs.sh
source "${here}/rootfs.sh"

readonly suite="bookworm"
readonly packages="ca-certificates,git,make"
readonly mirror="${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
readonly system="${cache}/debian12/system"
readonly script="${root}/lab/bench/first.sh"

main() {
  local name round rounds=()
  if [[ "${1:-}" == --inside ]]; then
    inside "${@:2}"
    return
  fi
  [[ "${EUID}" -eq 0 ]] || die "To make a root file system and namespaces takes root." "Run: sudo --preserve-env make bench RUN=first"
  [[ "${ENGINE:-auto}" != auto ]] || ENGINE=docker
  export ENGINE
  for name in "${engines[@]}"; do
    ! answers "${name}" || die "${name} runs on this machine." "Stop it: make engine-stop ENGINE=${name}"
  done
  mkdir -p "${root}/_artifacts" "${system%/*}"
  make_system
  for ((round = 1; round <= ${ROUNDS:-2}; round++)); do
    say "Round ${round} of ${ROUNDS:-2} on ${ENGINE}"
    run
    rounds+=("$(<"${root}/_artifacts/first-seconds")")
    rm -f "${root}/_artifacts/first-seconds"
  done
  write "$(IFS=,; echo "${rounds[*]}")"
}

work="" namespaces=""

run() {
  work="$(mktemp --directory "${system%/*}/run.XXXXXX")"
  trap end EXIT
  trap 'exit 130' INT TERM
  git clone --quiet "${root}" "${work}/clone"
  unshare --mount --pid --fork --kill-child "${script}" --inside "${work}" <&0 &
  namespaces="$!"
  wait "${namespaces}"
  trap - EXIT
  end
}

inside() {
  local start
  local -r work="$1"
  unset GOCACHE GOMODCACHE XDG_CACHE_HOME KUBECONFIG
  # The certificates of a proxy that this machine may have.
  enter "${work}" "${root}/_artifacts" "$(go env GOROOT)" "${work}/clone" /etc/ssl/certs
  export HOME=/root
  cd "${work}/clone"
  trap remove_containers EXIT
  trap 'exit 130' TERM
  start="$(date +%s)"
  make quickstart &
  wait "$!"
  echo "$(($(date +%s) - start))" >"${root}/_artifacts/first-seconds"
}

write() {
  cat >"_artifacts/first-${ENGINE}.json" <<EOF
{
  "engine": "${ENGINE}",
  "date": "$(date +%F)",
  "commit": "$(git rev-parse --short HEAD)",
  "machine": "$(nproc) cores, $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), ${ENGINE} of Debian 12, empty caches",
  "rounds": ${ROUNDS:-2},
  "tables": [
    {
      "title": "Seconds",
      "unit": "s",
      "rows": [
        {
          "what": "make quickstart",
          "rounds": [$1]
        }
      ]
    }
  ]
}
EOF
  say "$1 s; written to _artifacts/first-${ENGINE}.json"
}

main "$@"
