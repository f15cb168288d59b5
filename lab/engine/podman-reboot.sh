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

# Leaves Podman as a host does that lost its power and booted: no process of a
# container, of its monitor or of the service, nothing below /run, no lock, no
# cgroup, no network interface and no rule. What lies on the disk stays. Needs root,
# and ends all containers of root's Podman.
#
#   lab/engine/podman-reboot.sh

set -o errexit -o nounset -o pipefail

readonly storage=/var/lib/containers/storage

main() {
  local ids bridges
  # What is frozen dies of no signal.
  podman unpause --all >/dev/null
  ids="$(podman ps --all --quiet --no-trunc)"
  bridges="$(podman network ls --quiet --filter driver=bridge | xargs --no-run-if-empty podman network inspect --format '{{.NetworkInterface}}')"
  kill_all "${ids}"
  unmount_all
  remove_interfaces "${bridges}"
  local id
  for id in ${ids}; do
    rm -rf "/run/runc/${id}" "/run/crun/${id}"
    remove_cgroups "${id}"
  done
  rm -rf /run/libpod /run/containers
  # The locks of containers and volumes, in memory.
  rm -f /dev/shm/libpod_lock
}

# The service first, so that it begins nothing more; monitors before what they watch,
# so that they do not clean up, which no power cut lets them do. What began while
# others were killed is found by the next list.
kill_all() {
  local containers
  containers="$(xargs --no-run-if-empty podman inspect --format '{{.State.Pid}}' <<<"$1")"
  kill_these "$(service_pid)"
  for _ in 1 2 3; do
    kill_these "$(monitors; cleanups)"
  done
  kill_these "${containers}"
  kill_these "$(with_arguments aardvark-dns /run/containers)"
}

kill_these() {
  local pid
  for pid in $1; do
    if ((pid > 1)); then
      kill -KILL "${pid}" 2>/dev/null || true
    fi
  done
}

# monitors are those of containers and of exec sessions, whose processes Podman does
# not list; they live five minutes longer than their command, and then run a podman.
monitors() { with_arguments conmon "${storage}"; }

# cleanups are what monitors run in the end.
cleanups() { with_arguments podman container cleanup; }

# with_arguments prints the processes of root with exactly this name among whose
# arguments is each of the others, or a path below it.
with_arguments() {
  local name="$1" pid line word
  shift
  for pid in $(pgrep --exact --uid 0 "${name}" || true); do
    line=" $(tr '\0' ' ' 2>/dev/null <"/proc/${pid}/cmdline" || true)"
    for word in "$@"; do
      [[ "${line}" == *" ${word}"[\ /]* ]] || continue 2
    done
    echo "${pid}"
  done
}

# With what systemd made below it, a node's cgroup of version 1 can be given no
# devices again.
remove_cgroups() {
  find /sys/fs/cgroup -depth -type d -path "*/libpod-$1*" -exec rmdir {} + 2>/dev/null || true
}

service_pid() { cat /run/cluster-api-provider-container-podman.pid 2>/dev/null || true; }

unmount_all() {
  local target
  awk -v below="^${storage}/|^/run/netns/netns-|^/run/containers/" '$2 ~ below { print $2 }' /proc/mounts | sort --reverse |
    while read -r target; do
      # Below a root that is shared, a mount is listed twice and goes with the first.
      mountpoint --quiet "${target}" || continue
      umount --lazy "${target}"
    done
  rm -f /run/netns/netns-*
}

remove_interfaces() {
  local bridge
  for bridge in $1; do
    ip link delete "${bridge}" 2>/dev/null || true
  done
  # Which of the two has its rules is up to netavark's version, and the other has none. Only
  # these are named: Docker may change its own at the same time.
  iptables-save | awk '
    tolower($0) !~ /netavark/ && !/^[*]|^COMMIT/ { next }
    /^:/ { chain = substr($1, 2); chains = chains "-X " chain "\n"; print "-F " chain; next }
    /^-A NETAVARK/ { next }
    /^-A/ { sub(/^-A/, "-D") }
    /^COMMIT/ { printf "%s", chains; chains = "" }
    { print }' | iptables-restore --noflush
  nft delete table inet netavark 2>/dev/null || true
}

main "$@"
