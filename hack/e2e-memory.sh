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

# Tests with clusters in memory, which need no engine. Reports and logs are in _artifacts.
#
#   hack/e2e-memory.sh life     the life of a cluster, and a restart of the manager
#   hack/e2e-memory.sh soak     random operations and faults
#   hack/e2e-memory.sh scale    Cluster API's Scale spec
#
# Environment:
#   KUBEBUILDER_ASSETS  directory of etcd, kube-apiserver and kube-controller-manager; default:
#                       what "make images" has built
#   SOAK_OPERATIONS, SOAK_DURATION, SEED
#                       of soak: how many operations (default 5000), for how long at least
#                       (default 40m), and what a former run has printed
#   CLUSTERS            of scale: how many (default 10). The spec's own variables, such as
#                       CAPI_SCALE_CONCURRENCY, are known too

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  KUBEBUILDER_ASSETS="$(plane_programs)"
  export KUBEBUILDER_ASSETS
  case "${1:-}" in
  life)
    programs
    MEMORY_PROGRAMS="${root}/bin" tests memory
    ;;
  soak)
    export SOAK_OPERATIONS="${SOAK_OPERATIONS:-5000}" SOAK_DURATION="${SOAK_DURATION:-40m}"
    FORMAT=standard-verbose tests memory-soak -run '^TestSoak$'
    ;;
  scale) scale ;;
  *) die "There is no way ${1:-} to run." "Known: life, soak, scale" ;;
  esac
}

# tests of the package memory. Nothing is recompiled for the race detector.
tests() { MODULE=e2e hack/test-go.sh "$1" -count=1 -timeout=0 "${@:2}" ./memory; }

# programs of a management plane with clusters in memory.
programs() {
  go build -o bin/capcon-plane ./cmd/capcon-plane
  go -C e2e build -o ../bin/capcon-memory ./memory/capcon-memory
}

scale() {
  local into="${root}/_artifacts/e2e/memory-scale"
  export CAPI_SCALE_CLUSTER_COUNT="${CLUSTERS:-10}"
  programs
  rm -rf "${into}"
  mkdir -p "${into}"
  go -C e2e test -tags e2e -count=1 -timeout=0 -v ./memory/specs -args -ginkgo.v -ginkgo.no-color \
    -ginkgo.timeout=12h -ginkgo.junit-report="${into}/junit.xml" \
    -memory.binaries="${KUBEBUILDER_ASSETS}" -memory.programs="${root}/bin" -memory.artifacts="${into}" \
    </dev/null 2>&1 | tee "${into}/output.log" | grep --line-buffered -E '^ *(STEP:|Passed|.*\[(FAILED|PANICKED)\]|(ok|FAIL|---) )'
}

main "$@"
