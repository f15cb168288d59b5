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
#   podman-reboot.sh

set -o errexit -o nounset -o pipefail

readonly storage=/var/lib/containers/storage

main() {
  local ids bridges
  ids="$(podman ps --quiet --no-trunc)"
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

kill_all() {
  local pids=() line
  pids+=("$(service_pid)")
  for line in $(xargs --no-run-if-empty podman inspect --format '{{.State.ConmonPid}} {{.State.Pid}}' <<<"$1"); do
    pids+=("${line}")
  done
  mapfile -t -O "${#pids[@]}" pids < <(pgrep --exact aardvark-dns || true)
  local pid
  for pid in "${pids[@]}"; do
    if ((${pid:-0} > 1)); then
      kill -KILL "${pid}" 2>/dev/null || true
    fi
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
      umount --lazy "${target}"
    done
  rm -f /run/netns/netns-*
}

remove_interfaces() {
  local bridge
  for bridge in $1; do
    ip link delete "${bridge}" 2>/dev/null || true
  done
  iptables-save | grep --invert-match --ignore-case netavark | iptables-restore
}

main "$@"
