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

# Runs the tests that need neither an engine nor the network.
#
#   hack/test-unit.sh [PACKAGE]... [FLAG]...     packages by default: all; flags are those of go test, such as -run
#
# Environment:
#   CI  set: with the race detector, which takes three times as long

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Most of the time goes into linking a hundred test programs. Go's linker takes a third less
# of it with fewer garbage collections, for some hundred megabytes of memory.
export GOGC="${GOGC:-400}"

main() {
  # Once, before tests that run at the same time ask for it.
  tool kustomize >/dev/null
  RACE="${CI:+yes}" hack/test-go.sh unit -short -timeout=30m -skip "${faults}" "${@:-./...}"
  if (($# == 0)); then
    # Cluster API's framework is not compiled a second time for the race detector.
    MODULE=e2e hack/test-go.sh unit-e2e -short ./...
    MODULE=contract hack/test-go.sh unit-contract -short ./...
  fi
}

main "$@"
