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

# Runs everything that proves the project, cheap parts first, and ends with the
# time of each part and one closing line. The first part that does not pass is the
# last that runs.
#
#   hack/test.sh

set -o errexit -o nounset -o pipefail

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Targets of the Makefile, in order.
readonly parts=(verify lint test-unit test-images engine images-load test-integration test-quickstart)

summary=()

main() {
  local part started
  cd "${root}"
  rm -rf _artifacts
  started="${SECONDS}"
  for part in "${parts[@]}"; do
    if ! run "${part}"; then
      report
      echo "FAIL: make ${part} did not pass; $((SECONDS - started)) s in all."
      exit 1
    fi
  done
  report
  echo "PASS: all ${#parts[@]} parts in $((SECONDS - started)) s."
}

run() {
  local part="$1" started="${SECONDS}" result=ok
  printf '\n=== make %s\n' "${part}"
  # A tool that asks would wait for ever where nobody answers.
  make "${part}" </dev/null || result=FAILED
  summary+=("$(printf '%-20s %-7s %5d s   %s' "${part}" "${result}" "$((SECONDS - started))" "$(totals "${part}")")")
  [[ "${result}" == ok ]]
}

# totals is the closing line of the part's go test, if it has one.
totals() {
  local log="_artifacts/${1#test-}.log"
  if [[ -e "${log}" ]]; then
    sed 's/\x1b\[[0-9;]*m//g' "${log}" | grep '^DONE ' | tail --lines 1
  fi
}

report() {
  printf '\n=== Parts\n'
  printf '%s\n' "${summary[@]}"
}

main "$@"
