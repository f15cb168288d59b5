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

# Makes a change of one line for each rule of the contract (docs/contract.md), one
# after the other, and has the test of the rule see it. The tree is not changed.
#
#   hack/test-contract.sh
#
# Environment:
#   PICK  how many are taken at random; default all of them
#   SEED  repeats a choice, which prints its own
#   ONLY  the rule whose changes are made, such as IM2
#
# Some tests run etcd and kube-apiserver: "make images" has built them.

set -o errexit -o nounset -o pipefail

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  cd "${root}"
  if [[ -z "${ONLY:-}" ]]; then
    PICK="${PICK:-all}"
    export PICK
  fi
  FORMAT=standard-verbose hack/test-go.sh contract -count=1 -timeout=3h -v -run '^TestMutations$' ./test/contract
}

main "$@"
