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

# Stops the container engine for a minute in the middle of a bootstrap, at chosen
# points, and requires that the cluster comes to be all the same. It stops and
# starts the Docker that "make engine" started by hand, with all it runs: never use
# it on an engine that others need.
#
#   hack/e2e-engine-stop.sh OPERATION POINT...
#     OPERATION  init, join-worker or join-control-plane
#     POINT      seconds after the container of the machine appeared
#
#   PAUSE=60 is how long the engine stays down.

set -o errexit -o nounset -o pipefail

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly cluster=engine-stop
readonly pause="${PAUSE:-60}"
readonly cluster_label=container.infrastructure.cluster.x-k8s.io/cluster
readonly machine_label=container.infrastructure.cluster.x-k8s.io/machine

main() {
  (($# >= 2)) || die "An operation and at least one point are needed." "hack/e2e-engine-stop.sh init 1 3 5"
  cd "${root}"
  mkdir -p _artifacts
  local operation="$1" point
  for point in "${@:2}"; do
    once "${operation}" "${point}"
  done
  bin/capcon down "${cluster}" >/dev/null 2>&1
}

# once interrupts one bootstrap and sees the cluster to its end.
once() {
  local operation="$1" point="$2" began="${SECONDS}"
  bin/capcon down "${cluster}" --keep-plane >/dev/null 2>&1 || true
  local before=0
  case "${operation}" in
  init) up --control-planes 1 --workers 0 & ;;
  join-worker)
    up --control-planes 1 --workers 0
    before=1
    up --workers 1 &
    ;;
  join-control-plane)
    up --control-planes 1 --workers 0
    before=1
    up --control-planes 3 &
    ;;
  *) die "Operation ${operation} is not known." "It is one of init, join-worker and join-control-plane." ;;
  esac
  local up_pid=$!
  wait_for_machine "$((before + 1))"
  sleep "${point}"
  hack/engine/docker-stop.sh >>_artifacts/engine-stop.log 2>&1
  sleep "${pause}"
  hack/engine/docker.sh >>_artifacts/engine-stop.log 2>&1
  wait "${up_pid}" || true
  if [[ "${operation}" == join-control-plane ]]; then
    replace_interrupted
  fi
  up || die "The cluster did not come to be after ${operation} was stopped at ${point} s." "See _artifacts/engine-stop.log"
  say "${operation} stopped at ${point} s for ${pause} s: ready $((SECONDS - began)) s after it was begun"
}

up() { bin/capcon up "${cluster}" "$@" >>_artifacts/engine-stop.log 2>&1; }

# wait_for_machine waits until the cluster has that many node containers.
wait_for_machine() {
  local tries=0
  until (($(docker ps --all --quiet --filter "label=${cluster_label}=${cluster}" --filter "label=${machine_label}" | wc --lines) >= $1)); do
    ((++tries < 1200)) || die "No container of a machine appeared within two minutes." "See _artifacts/engine-stop.log"
    sleep 0.1
  done
}

# replace_interrupted does what a MachineHealthCheck would: the join of a control
# plane is not repeated, because it may have left a member in etcd.
replace_interrupted() {
  local names
  names="$(bin/capcon status "${cluster}" 2>/dev/null | sed --quiet 's/^machine \([^:]*\): BootstrapInterrupted.*/\1/p')"
  local name
  for name in ${names}; do
    say "Replacing ${name}, whose join was interrupted."
    bin/capcon kubeconfig --management >_artifacts/management.kubeconfig
    kubectl --kubeconfig _artifacts/management.kubeconfig delete machine "${name}" --wait=false
  done
}

main "$@"
