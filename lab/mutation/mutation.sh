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

# Mutates the packages that keep Cluster API's contract, one mutant after the other, and runs
# the tests of the package on each. The report names the mutants that no test of
# their own package kills; tests of other packages may.
#
#   lab/mutation/mutation.sh
#
# Environment:
#   PACKAGES  directories; default: webhooks and controllers

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

readonly default_packages="./internal/webhooks ./controllers/cluster ./controllers/machine ./controllers/machinepool ./controllers/node ./controllers/internal/reconcile"

main() {
  local package gremlins
  gremlins="$(tool gremlins)"
  mkdir -p _artifacts/contract
  # Of one package at a time: the tool runs the tests of the mutant's package only.
  for package in ${PACKAGES:-${default_packages}}; do
    say "Mutating ${package}."
    "${gremlins}" unleash --output="_artifacts/contract/$(basename "${package}").json" "${package}" |
      tee "_artifacts/contract/$(basename "${package}").log" | grep --invert-match '^ *KILLED'
  done
}

main "$@"
