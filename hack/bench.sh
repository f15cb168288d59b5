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

# Compares "capcon up" of one control plane and one worker, on warm images and a
# running plane, with the floor: the same node image, kubeadm and nothing else.
# The two alternate in one run, so that what else the machine does falls on both;
# only their ratio means anything.
#
#   hack/bench.sh
#
# Environment:
#   ROUNDS  how many of each (default 3)
#   ENGINE  docker, podman or auto (default)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly rounds="${ROUNDS:-3}"
readonly cluster=bench
readonly anchor=bench-anchor

floors=()
ups=()

main() {
  use_engine
  trap clean_up EXIT
  # The anchor keeps the plane running between the rounds and warms it up.
  say "Starting the plane with a first cluster, which is not measured."
  bin/capcon up "${anchor}" --engine "${ENGINE}" --control-planes 1 --workers 0 >/dev/null
  bin/capcon down "${anchor}" --engine "${ENGINE}" --keep-plane >/dev/null
  local round
  for ((round = 1; round <= rounds; round++)); do
    measure_floor
    measure_up
    printf 'round %d: floor %s s, capcon up %s s\n' "${round}" "${floors[-1]}" "${ups[-1]}"
  done
  printf 'median: floor %s s, capcon up %s s, ratio %s (load average at the end %s)\n' \
    "$(median "${floors[@]}")" "$(median "${ups[@]}")" \
    "$(awk -v up="$(median "${ups[@]}")" -v floor="$(median "${floors[@]}")" 'BEGIN { printf "%.2f", up / floor }')" \
    "$(cut --delimiter=' ' --fields=1 /proc/loadavg)"
}

measure_floor() {
  floors+=("$(hack/bench-floor.sh | awk '/total: 1 \+ 1 all Ready/ { print $1 }')")
}

measure_up() {
  local began
  began="$(date +%s%N)"
  bin/capcon up "${cluster}" --engine "${ENGINE}" --control-planes 1 --workers 1 >_artifacts/bench-up.log 2>&1
  ups+=("$(awk -v from="${began}" -v to="$(date +%s%N)" 'BEGIN { printf "%.2f", (to - from) / 1e9 }')")
  bin/capcon down "${cluster}" --engine "${ENGINE}" --keep-plane >/dev/null 2>&1
}

median() { printf '%s\n' "$@" | sort --general-numeric-sort | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

clean_up() { bin/capcon down "${cluster}" --engine "${ENGINE}" >/dev/null 2>&1 || true; }

mkdir -p "${root}/_artifacts"
main "$@"
