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

# Runs go test through gotestsum, which ends with one line of totals, and keeps
# its reports in _artifacts.
#
#   hack/test-go.sh NAME [ARGUMENTS OF GO TEST]...
#
# Environment:
#   FORMAT  of what gotestsum prints; default pkgname, a line per package
#   MODULE  directory of the Go module; default the repository's own
#   RACE    yes: with the race detector, where there is a C compiler

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  local name="${1:?usage: test-go.sh NAME [ARGUMENTS]...}" runner summary=()
  shift
  if [[ "${name}" == unit ]]; then
    # What needs an engine is left out there on purpose.
    summary=(--hide-summary=skipped)
  fi
  runner="$(tool gotestsum)"
  if [[ "${RACE:-}" == yes ]] && has_c_compiler; then
    export CGO_ENABLED=1
    set -- -race "$@"
  elif [[ "${RACE:-}" == yes ]]; then
    say "Without the race detector, because there is no C compiler. To have it: sudo apt-get install gcc libc6-dev"
  fi
  # make lint runs vet, which would analyze all dependencies here once more.
  set -- -vet=off "$@"
  mkdir -p "${root}/_artifacts"
  cd "${MODULE:-.}"
  "${runner}" --format="${FORMAT:-pkgname}" --format-hide-empty-pkg "${summary[@]}" \
    --junitfile="${root}/_artifacts/${name}.xml" --jsonfile="${root}/_artifacts/${name}.json" \
    -- "$@" 2>&1 | tee "${root}/_artifacts/${name}.log"
}

main "$@"
