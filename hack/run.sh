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

# Runs the controllers of this clone as processes of this machine, until Ctrl-C. Run again,
# it continues with the same objects.
#
#   hack/run.sh               a management plane: etcd, API server, Cluster API and this provider
#   hack/run.sh KUBECONFIG    the manager of this provider alone, in a cluster that has Cluster API
#
# Environment:
#   ENGINE  docker, podman, auto (default), or memory: a management plane whose clusters are in
#           memory, which needs no engine
#   KUBEBUILDER_ASSETS  directory of etcd, kube-apiserver and kube-controller-manager, for memory;
#           default: what "make images" has built
#   FLAGS   more flags of the manager, for memory, such as --bootstrap-duration=20s

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  if [[ "${ENGINE:-}" == memory ]]; then
    [[ -z "${1:-}" ]] || die "Clusters in memory have a management plane of their own." "Run: make run ENGINE=memory"
    memory
  fi
  use_engine
  if [[ -n "${1:-}" ]]; then
    manager "$1"
  else
    plane
  fi
}

plane() {
  local binaries state="${cache}/run/${ENGINE}"
  binaries="$(image_programs localhost/capcon/plane:dev)"
  go build -o bin/capcon-plane ./cmd/capcon-plane
  say "export KUBECONFIG=${state}/admin.kubeconfig"
  exec bin/capcon-plane run --state-dir="${state}" --binaries="${binaries}" --api-address=127.0.0.1 -- --engine="${ENGINE}"
}

# memory never returns.
memory() {
  local binaries flags state="${cache}/run/memory"
  binaries="$(plane_programs)"
  read -ra flags <<<"${FLAGS:-}"
  go build -o bin/capcon-plane ./cmd/capcon-plane
  go -C e2e build -o ../bin/capcon-memory ./memory/capcon-memory
  say "export KUBECONFIG=${state}/admin.kubeconfig"
  exec bin/capcon-plane run --state-dir="${state}" --binaries="${binaries}" --api-address=127.0.0.1 \
    --manager="${root}/bin/capcon-memory" -- --faults=capcon-faults ${flags[@]+"${flags[@]}"}
}

# manager without webhooks: the API server does not reach this machine.
manager() {
  export KUBECONFIG="$1"
  command -v kubectl >/dev/null || die "kubectl is not in PATH."
  if kubectl --namespace kube-system get lease capcon-plane >/dev/null 2>&1; then
    die "$1 is of a management plane, whose own manager has this provider." "Run: make run"
  fi
  if kubectl --namespace capcon-system get deployment capcon-controller-manager >/dev/null 2>&1; then
    die "A manager of this provider is installed there." "Run: clusterctl delete --infrastructure container" \
      "Its CRDs and objects stay."
  fi
  kubectl apply --server-side --force-conflicts --kustomize config/crd
  make build-manager
  exec bin/manager --kubeconfig="$1" --webhook-port=0 --engine="${ENGINE}"
}

main "$@"
