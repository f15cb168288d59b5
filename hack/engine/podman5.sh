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


# Proves the engine's contract on the Podman of Debian 13: its service runs in a
# root file system of its own, made once and kept in the cache, and in network and
# process namespaces of its own, in which the conformance suite runs too. All that it
# makes but the root file system ends with this script. The Podman of this machine,
# if it has one, is not touched.
#
#   hack/engine/podman5.sh [ARGUMENTS OF GO TEST]...
#
# Environment:
#   DEBIAN_MIRROR  default http://deb.debian.org/debian

set -o errexit -o nounset -o pipefail

# shellcheck source=hack/engine/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/engine/host.sh
source "${here}/host.sh"

readonly suite="trixie"
readonly packages="podman,netavark,aardvark-dns,runc,iptables,nftables,ca-certificates"
readonly mirror="${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
readonly system="${cache}/podman5/${suite}"
readonly patience=60

main() {
  if [[ "${1:-}" == serve ]]; then
    serve "$2"
    return
  fi
  [[ "${EUID}" -eq 0 ]] || die "To make a root file system and namespaces takes root." "Run: sudo --preserve-env make e2e-podman5"
  make_system
  cd "${root}"
  # Within the namespace there is no way to the Go module proxy.
  tool gotestsum >/dev/null
  go test -c -o /dev/null "${race[@]}" ./internal/engine/podman

  # Short: Podman bounds the length of its run root, and the kernel that of a socket.
  work="$(mktemp --directory /tmp/podman5.XXXXXX)"
  trap end EXIT
  trap 'exit 130' INT TERM
  mkdir "${work}/tests"
  unshare --mount --net --pid --fork --kill-child "${BASH_SOURCE[0]}" serve "${work}" >"${work}/log" 2>&1 &
  service="$!"
  await_service
  say "$(head --lines 1 "${work}/log")"
  TMPDIR="${work}/tests" CONTAINER_HOST="unix://${work}/podman.sock" FORMAT="${FORMAT:-testname}" \
    nsenter --net="/proc/${service}/ns/net" \
    hack/test-go.sh conformance-podman5 -count=1 -run '^TestIntegrationConformance$' -timeout=20m "${race[@]}" "$@" ./internal/engine/podman
}

race=()
if has_c_compiler; then
  race=(-race)
fi
work="" service=""

# make_system moves the finished root file system into place, so that one that was
# interrupted is begun anew.
make_system() {
  [[ ! -d "${system}" ]] || return 0
  is_debian || die "Only Debian and Ubuntu have debootstrap." "Run this on one of them."
  command -v debootstrap >/dev/null || apt_install debootstrap || die "debootstrap cannot be installed." "Read the messages above."
  say "Making a root file system of Debian ${suite} in ${system}; it is kept."
  rm -rf --one-file-system "${system}.new"
  mkdir -p "${system}.new"
  # In a namespace of its own, so that its mounts end with it, however it ends.
  unshare --mount debootstrap --variant=minbase --include="${packages}" "${suite}" "${system}.new" "${mirror}" >"${system}.log" 2>&1 ||
    die "debootstrap did not succeed." "Its last lines: $(tail --lines 3 "${system}.log" | tr '\n' ' ')" \
      "All of them: ${system}.log and ${system}.new/debootstrap/debootstrap.log; another mirror: DEBIAN_MIRROR=..."
  # The packages themselves are not needed any more.
  rm -rf "${system}.new/var/cache/apt/archives"/*.deb
  mv "${system}.new" "${system}"
}

await_service() {
  local began="${SECONDS}"
  until [[ -S "${work}/podman.sock" ]]; do
    if ! kill -0 "${service}" 2>/dev/null || ((SECONDS - began > patience)); then
      sed 's/^/    /' "${work}/log" >&2
      die "Podman's service does not start." "Read the lines above; to make the root file system anew: rm -r ${system}"
    fi
    sleep 0.2
  done
}

# end has the service remove its containers and waits for it; what is in the
# namespaces ends with their first process.
end() {
  local waited
  if [[ -n "${service}" ]]; then
    touch "${work}/end"
    for ((waited = 0; waited < patience * 5; waited++)); do
      kill -0 "${service}" 2>/dev/null || break
      sleep 0.2
    done
    kill -s KILL "${service}" 2>/dev/null || true
    wait "${service}" 2>/dev/null || true
  fi
  rm -rf --one-file-system "${work}"
}

# serve is the first process of the namespaces. All its mounts end with them, and it
# reaps what containers leave.
serve() {
  local work="$1" podman
  ip link set lo up
  mount --make-rprivate /
  mount --bind "${system}" "${system}"
  mount -t proc proc "${system}/proc"
  mount -t sysfs sysfs "${system}/sys"
  mount --rbind /sys/fs/cgroup "${system}/sys/fs/cgroup"
  mount --rbind /dev "${system}/dev"
  mount -t tmpfs tmpfs "${system}/run"
  mount -t tmpfs tmpfs "${system}/tmp"
  mkdir "${system}${work}"
  mount --bind "${work}" "${system}${work}"
  configuration >"${work}/containers.conf"
  export CONTAINERS_CONF="${work}/containers.conf" PODMAN_IGNORE_CGROUPSV1_WARNING=1
  # Not chroot: who enters a container's namespace is where its root is, which must
  # not be this machine's.
  mkdir -p "${system}/outside"
  cd "${system}"
  pivot_root . outside
  cd /
  hash -r
  umount --lazy /outside
  podman=(podman --root "${work}/root" --runroot "${work}/run" --tmpdir "${work}/state" --network-config-dir "${work}/networks")
  "${podman[@]}" info --format 'Podman {{.Version.Version}}, {{.Host.NetworkBackendInfo.Version}}, {{.Host.OCIRuntime.Version}}'
  "${podman[@]}" system service --time=0 "unix://${work}/podman.sock" &
  local process="$!"
  until [[ -e "${work}/end" ]]; do
    kill -0 "${process}" || return 1
    sleep 0.2
  done
  "${podman[@]}" rm --all --force --time=0 --volumes
}

# configuration asks for what a host without systemd, with the old cgroups or with
# low limits can give.
configuration() {
  local files
  files="$(ulimit -Hn)"
  printf '%s\n' "[containers]" "default_ulimits = [\"nofile=${files}:${files}\", \"nproc=32768:32768\"]" \
    "[engine]" 'cgroup_manager = "cgroupfs"' 'events_logger = "file"' 'runtime = "runc"'
}

main "$@"
