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

# make_system moves the finished root file system into place, so that one that was
# interrupted is started again.
make_system() {
  [[ "$(cat "${system}.packages" 2>/dev/null)" != "${packages}" ]] || return 0
  is_debian || die "Only Debian and Ubuntu have debootstrap." "Run this on one of them."
  command -v debootstrap >/dev/null || apt_install debootstrap || die "debootstrap cannot be installed." "Read the messages above."
  say "Making a root file system of Debian ${suite} in ${system}; it is kept."
  rm -rf --one-file-system "${system}" "${system}.new" "${system}.packages"
  mkdir -p "${system}.new"
  # In a namespace of its own, so that its mounts end with it, however it ends.
  unshare --mount debootstrap --variant=minbase --include="${packages}" "${suite}" "${system}.new" "${mirror}" >"${system}.log" 2>&1 ||
    die "debootstrap did not succeed." "Its last lines: $(tail --lines 3 "${system}.log" | tr '\n' ' ')" \
      "All of them: ${system}.log and ${system}.new/debootstrap/debootstrap.log; another mirror: DEBIAN_MIRROR=..."
  # The packages themselves are not needed any more.
  rm -rf "${system}.new/var/cache/apt/archives"/*.deb
  mv "${system}.new" "${system}"
  echo "${packages}" >"${system}.packages"
}

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

# end has the first process of the namespaces remove the containers; what is left in
# the namespaces ends with it.
end() {
  local first
  if first="$(pgrep --parent "${namespaces:-0}")"; then
    kill -s TERM "${first}" 2>/dev/null || true
  fi
  wait "${namespaces}" 2>/dev/null || true
  rm -rf --one-file-system "${work}"
}

# inside is the first process of the namespaces. All its mounts end with them, and it
# reaps what containers leave.
inside() {
  local work="$1" programs="$2"
  shift 2
  enter "${work}"
  # Before what packages installed.
  PATH="${programs:+${programs}:}${PATH}"
  ip link set lo up
  trap remove_containers EXIT
  trap 'exit 130' TERM
  # In the background, for the same reason as above.
  "$@" <&0 &
  wait "$!"
}

enter() {
  local new="$1/root" own shared
  shared=("${root}" "${cache}" "$(go env GOROOT)" "$(go env GOMODCACHE)" "$(go env GOCACHE)")
  mkdir "${new}" "$1/changes" "$1/scratch"
  mount --make-rprivate /
  mount -t overlay -o "lowerdir=${system},upperdir=$1/changes,workdir=$1/scratch" overlay "${new}"
  mount -t proc proc "${new}/proc"
  mount -t sysfs sysfs "${new}/sys"
  mount --rbind /sys/fs/cgroup "${new}/sys/fs/cgroup"
  mount --rbind /dev "${new}/dev"
  # Podman keeps locks there, of this machine's containers.
  mount -t tmpfs tmpfs "${new}/dev/shm"
  mount -t tmpfs tmpfs "${new}/run"
  # overlayfs takes no changes into a directory that is an overlay itself.
  for own in var/lib/docker var/lib/containers tmp; do
    mkdir -p "$1/own/${own}" "${new}/${own}"
    mount --bind "$1/own/${own}" "${new}/${own}"
  done
  for own in "${shared[@]}"; do
    mkdir -p "${new}${own}"
    mount --bind "${own}" "${new}${own}"
  done
  PATH="$(go env GOROOT)/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  export GOCACHE GOMODCACHE GOPROXY=off CGO_ENABLED=0
  GOCACHE="$(go env GOCACHE)" GOMODCACHE="$(go env GOMODCACHE)"
  unset TMPDIR XDG_RUNTIME_DIR DOCKER_HOST DOCKER_CONTEXT CONTAINER_HOST CONTAINER_CONNECTION
  # Not chroot: who enters a container's namespace is where its root is, which must
  # not be this machine's.
  mkdir -p "${new}/outside"
  cd "${new}"
  pivot_root . outside
  cd "${root}"
  hash -r
  umount --lazy /outside
  # As systemd does. Engines make up for a root that is not shared, and may leave
  # that mount behind.
  mount --make-rshared /
}

# remove_containers, because their control groups would stay.
remove_containers() {
  local name
  for name in "${engines[@]}"; do
    if ENGINE="${name}" answers "${name}"; then
      "${name}" ps --all --quiet | xargs --no-run-if-empty "${name}" rm --force --volumes >/dev/null || true
    fi
  done
}

main "$@"
