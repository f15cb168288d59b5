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

# Checks the words of all texts (test/repository/language_test.go), and style and
# architecture of all modules with golangci-lint, in a copy of the
# sources whose path is the same for all clones: its cache knows a file by its path, so
# that in the directory of each new clone it would check everything once more.
#
#   hack/lint.sh         report
#   hack/lint.sh --fix   fix in this clone what golangci-lint can fix by itself

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  local module copy="${cache}/lint"
  go test -vet=off -count=1 -run '^TestTextsAvoidWords$' ./test/repository
  linter="$(tool golangci-lint)"
  # Where there is no flock, as on macOS, here.
  if [[ "${1:-}" != --fix ]] && command -v flock >/dev/null; then
    mkdir -p "${copy}"
    # One at a time: the next clone replaces the sources.
    exec {lock}>"${copy}/lock"
    flock "${lock}"
    rm -rf "${copy}/source"
    source_files | tar --create --files-from=- | tar --extract --directory "${copy}" --one-top-level=source
    cd "${copy}/source"
  fi
  lint . "$@"
  for module in lab contract contract/test template template/e2e; do
    lint "${module}" "$@"
  done
  lint e2e --build-tags e2e "$@"
}

# lint checks one module. It waits where another one runs, as that of an editor.
lint() { (cd "$1" && "${linter}" run --allow-serial-runners "${@:2}"); }

main "$@"
