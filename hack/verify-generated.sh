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

# Proves that the generated files are those that the sources make: generates in a
# copy of the tree (with what is not committed yet) and compares.
#
#   hack/verify-generated.sh

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

copy="$(mktemp --directory)"
readonly copy
trap 'rm -rf "${copy}"' EXIT

main() {
  source_files . >"${copy}/files"
  mkdir "${copy}/before" "${copy}/after"
  tar --directory "${root}" --create --files-from "${copy}/files" | tee >(tar --directory "${copy}/before" --extract) |
    tar --directory "${copy}/after" --extract
  "${root}/hack/generate.sh" "${copy}/after"
  if ! diff --recursive --unified --new-file "${copy}/before" "${copy}/after"; then
    die "Generated files are not those that the sources make." "Run: make generate"
  fi
  say "Generated files are up to date."
}

main "$@"
