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

# Proves that each go.mod is tidy and that go.sum fits the module cache, without
# changing them.
#
#   hack/verify-modules.sh

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

difference="$(mktemp)"
readonly difference
trap 'rm -f "${difference}"' EXIT

main() {
  local module wrong=()
  while IFS= read -r module; do
    if ! go -C "$(dirname "${module}")" mod tidy -diff >"${difference}"; then
      head --lines 40 "${difference}"
      wrong+=("${module}. Run: go -C $(dirname "${module}") mod tidy")
    fi
  done < <(source_files 'go.mod' '*/go.mod')
  if ((${#wrong[@]} > 0)); then
    die "These files or their go.sum are not tidy:" "${wrong[@]}"
  fi
  say "Each go.mod is tidy."
}

main "$@"
