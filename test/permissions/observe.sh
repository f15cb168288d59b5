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

# What the processes of containers may do, as the kernel of the engine's host has it.
#
#   observe.sh PID [GLOB]...     the first process of a container, and files in it
#
# It runs in a privileged container that shares the host's processes. One record
# on each line, its fields separated by tabs.
set -o errexit -o nounset -o pipefail
shopt -s nullglob

root="$1"
shift

declare -A parent
for stat in /proc/[0-9]*/stat; do
  # A process that has exited meanwhile.
  { read -r line <"${stat}"; } 2>/dev/null || continue
  pid="${stat#/proc/}" pid="${pid%/stat}"
  read -r _ ppid _ <<<"${line##*) }"
  parent["${pid}"]="${ppid}"
done

# below reports whether a process descends from the first one, as those of nested
# containers do.
below() {
  local pid="$1"
  while [[ -n "${pid}" && "${pid}" != 0 ]]; do
    if [[ "${pid}" == "${root}" ]]; then
      return 0
    fi
    pid="${parent[${pid}]:-}"
  done
  return 1
}

network="$(readlink "/proc/${root}/ns/net")"
processes="$(readlink "/proc/${root}/ns/pid")"
declare -A owner member
for pid in "${!parent[@]}"; do
  # Processes that the engine runs in the container by exec do not descend from
  # its first one.
  if [[ "$(readlink "/proc/${pid}/ns/pid")" == "${processes}" ]]; then
    member["${pid}"]=own
  elif below "${pid}"; then
    member["${pid}"]=nested
  else
    continue
  fi
  { read -r comm <"/proc/${pid}/comm"; } 2>/dev/null || continue
  awk -v OFS='\t' -v comm="${comm}" -v nested="${member[${pid}]}" '
    { value[$1] = $2 }
    END { if ("Uid:" in value) print "process", comm, nested, value["Uid:"] ":" value["Gid:"], value["CapEff:"], value["CapBnd:"], value["NoNewPrivs:"], value["Seccomp:"] }
  ' "/proc/${pid}/status" 2>/dev/null || continue
  if [[ "$(readlink "/proc/${pid}/ns/net")" == "${network}" ]]; then
    while IFS= read -r inode; do
      owner["${inode}"]="${comm}"
    done < <(find "/proc/${pid}/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null | tr -dc '0-9\n')
  fi
done

for table in tcp tcp6; do
  # 0A is LISTEN.
  while read -r _ address _ state _ _ _ _ _ inode _; do
    if [[ "${state}" == 0A ]]; then
      printf 'listens\t%s\t%s\n' "${address}" "${owner[${inode}]:-?}"
    fi
  done <"/proc/${root}/net/${table}"
done

for glob in "$@"; do
  for file in /proc/"${root}"/root${glob}; do
    if [[ -e "${file}" ]]; then
      stat --printf "file\t${file#/proc/"${root}"/root}\t%a\t%u:%g\n" "${file}"
    fi
  done
done

find "/proc/${root}/root/dev" -maxdepth 1 \( -type b -o -type c \) -printf 'device\t%f\n'
awk -v OFS='\t' '$1 == "CapBnd:" { print "host", $2 }' /proc/self/status
# What processes were given is scanned for secrets.
for pid in "${!member[@]}"; do
  for name in cmdline environ; do
    { printf '%s\t%s\n' "${name}" "$(tr '\0\n\t' '   ' <"/proc/${pid}/${name}")"; } 2>/dev/null || continue
  done
done
