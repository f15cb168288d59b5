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

# Compares "capcon up" of one control plane and one worker with kind and with the floor, and
# three of each with the floor, on warm images and a running plane. Builds kind, and runs
# lab/bench/up.
#
#   lab/bench/up.sh [FLAG]...     flags of lab/bench/up
#
# Environment:
#   ROUNDS  how many of each (default 5)
#   ENGINE  docker, podman or auto (default)
#   NAME    begins the name of the file of results in _artifacts (default up)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

readonly image="localhost/capcon/node:v1.36.3"

main() {
  use_engine
  local config
  config="$(mktemp)"
  # shellcheck disable=SC2064
  trap "rm -f '${config}'" EXIT
  kind_config >"${config}"
  mkdir -p _artifacts
  go -C lab build -o "${root}/_artifacts/up" ./bench/up
  _artifacts/up -engine "${ENGINE}" -rounds "${ROUNDS:-5}" -image "${image}" \
    -kind "$(hack/tool.sh kind)" -kind-config "${config}" -commit "$(git rev-parse --short HEAD)" \
    -machine "$(nproc) cores, $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), $(engine version --format '{{.Server.Version}}' | sed "s/^/${ENGINE} /")" \
    -output "_artifacts/${NAME:-up}-${ENGINE}.json" "$@"
}

# kind_config is what kind's user must give on a restricted host.
kind_config() {
  cat <<'EOF'
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
- role: worker
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  failCgroupV1: false
  featureGates: {KubeletInUserNamespace: true}
- |
  kind: KubeProxyConfiguration
  conntrack: {maxPerCore: 0}
containerdConfigPatches:
- |
  [plugins."io.containerd.cri.v1.runtime"]
    restrict_oom_score_adj = true
EOF
}

main "$@"
