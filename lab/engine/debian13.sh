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


# Runs a command on Debian 13, whose engines are newer than those of this machine may
# be: as root, in a root file system that is made once and kept in the cache, and in
# mount, network and process namespaces of its own. Both engines are installed there
# and neither runs: "make engine" starts one, as on a machine without systemd. The
# repository and Go's caches are this machine's; there is no way to other networks.
# Engines, containers and changes of the root file system end with the command.
#
#   [ENGINE=docker|podman] lab/engine/debian13.sh COMMAND [ARGUMENTS]...
#
# Environment:
#   DEBIAN_MIRROR  default http://deb.debian.org/debian
#   DOCKERD        "built": the dockerd of lab/engine/dockerd/go.mod, built from source,
#                  instead of Debian's; its containerd and runc are Debian's

# shellcheck source=lab/engine/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=lab/engine/host.sh
source "${here}/host.sh"
# shellcheck source=lab/engine/rootfs.sh
source "${here}/rootfs.sh"

readonly suite="trixie"
# busybox-static, iproute2, kmod and procps are what engines and tests run; the others
# what "make engine" would install.
readonly packages="docker.io,docker-cli,podman,netavark,aardvark-dns,runc,iptables,nftables,ca-certificates,busybox-static,iproute2,kmod,procps,make"
readonly mirror="${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
readonly system="${cache}/debian13/system"
readonly dockerd="${here}/dockerd"

main() {
  if [[ "${1:-}" == --inside ]]; then
    inside "${@:2}"
    return
  fi
  (($# > 0)) || die "The command is missing." "lab/engine/debian13.sh COMMAND [ARGUMENTS]..."
  [[ "${EUID}" -eq 0 ]] || die "To make a root file system and namespaces takes root." "Run: sudo --preserve-env ${here}/debian13.sh $*"
  make_system
  raise_inotify
  download
  [[ "${DOCKERD:-}" != built ]] || programs="$(build_dockerd)"

  work="$(mktemp --directory "${cache}/debian13/run.XXXXXX")"
  trap end EXIT
  trap 'exit 130' INT TERM
  # In the background: a trap waits for what runs in the foreground.
  unshare --mount --net --pid --fork --kill-child "${here}/debian13.sh" --inside "${work}" "${programs}" "$@" <&0 &
  namespaces="$!"
  wait "${namespaces}"
}

work="" namespaces="" programs=""

# download gets what Go cannot get within the namespaces.
download() {
  tool gotestsum >/dev/null
  go list -deps -test ./... >/dev/null
}

# build_dockerd prints the directory of dockerd and what it runs besides containerd. The
# module's version is not that of the engine.
build_dockerd() {
  local module version directory
  go -C "${dockerd}" mod download github.com/moby/moby/v2 >&2
  module="$(go -C "${dockerd}" list -m -f '{{.Dir}}' github.com/moby/moby/v2)"
  version="$(sed -n 's/^ *last: "\(.*\)"$/\1/p' "${module}/releases/versions.yaml")"
  directory="${cache}/debian13/dockerd-$(sha256sum <"${dockerd}/go.sum" | cut -c1-12)"
  if [[ ! -d "${directory}" ]]; then
    say "Building dockerd ${version}; it is kept." >&2
    rm -rf "${directory}.new"
    mkdir -p "${directory}.new"
    CGO_ENABLED=0 go -C "${dockerd}" build -trimpath -o "${directory}.new" \
      -ldflags="-s -w -X github.com/moby/moby/v2/dockerversion.Version=${version}" tool >&2 ||
      die "dockerd cannot be built." "Read the messages above; is the Go module proxy reachable?"
    mv "${directory}.new" "${directory}"
  fi
  echo "${directory}"
}

# inside is the first process of the namespaces. All its mounts end with them, and it
# reaps what containers leave.
inside() {
  local work="$1" programs="$2"
  shift 2
  export GOCACHE GOMODCACHE GOPROXY=off CGO_ENABLED=0
  GOCACHE="$(go env GOCACHE)" GOMODCACHE="$(go env GOMODCACHE)"
  enter "${work}" "${root}" "${cache}" "$(go env GOROOT)" "${GOMODCACHE}" "${GOCACHE}"
  cd "${root}"
  # Before what packages installed.
  PATH="${programs:+${programs}:}${PATH}"
  ip link set lo up
  trap remove_containers EXIT
  trap 'exit 130' TERM
  # In the background, for the same reason as above.
  "$@" <&0 &
  wait "$!"
}

main "$@"
