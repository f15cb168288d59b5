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

# Root file systems of their own, made by debootstrap and kept in the cache, in which commands run
# with engines as on another machine. For other scripts: source it after lib.sh and host.sh, and
# define suite, packages, mirror and system.

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

# enter a root file system in the directory of a run, with directories that this machine shares.
enter() {
  local new="$1/root" own shared
  shared=("${@:2}")
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
  for own in root var/lib/docker var/lib/containers tmp; do
    mkdir -p "$1/own/${own}" "${new}/${own}"
    mount --bind "$1/own/${own}" "${new}/${own}"
  done
  for own in "${shared[@]}"; do
    mkdir -p "${new}${own}"
    mount --bind "${own}" "${new}${own}"
  done
  PATH="$(go env GOROOT)/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  unset TMPDIR XDG_RUNTIME_DIR DOCKER_HOST DOCKER_CONTEXT CONTAINER_HOST CONTAINER_CONNECTION
  # Not chroot: who enters a container's namespace is where its root is, which must
  # not be this machine's.
  mkdir -p "${new}/outside"
  cd "${new}"
  pivot_root . outside
  cd /
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
