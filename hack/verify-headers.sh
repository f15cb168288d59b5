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

# Proves that all Go, shell and make files start with the license header.
#
#   hack/verify-headers.sh

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly owner="The cluster-api-provider-container Authors."

main() {
  local file without=()
  while IFS= read -r file; do
    # Generated files say so in their first lines and carry the generator's.
    if ! head --lines 5 "${file}" | grep --quiet --extended-regexp "Copyright 20[0-9]{2} ${owner}|^// Code generated .* DO NOT EDIT\.$"; then
      without+=("${file}")
    fi
  done < <(source_files '*.go' '*.sh' '*.mk' '*Makefile' .ci/run ':!:**/testdata/**')
  if ((${#without[@]} > 0)); then
    die "These files do not start with the license header of hack/boilerplate.go.txt:" "${without[@]}"
  fi
  say "All source files have the license header."
}

main "$@"
