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

# Writes the reference below docs/reference from what it is about: the types and
# conditions of the API, the manager's flags, and capcon's commands. Writes the figures of
# benchmarks into the pages that have markers for them, from lab/bench/results, and into docs/book
# what its pages quote of the template.
#
#   hack/reference.sh [DIRECTORY]     default: the repository itself

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

programs="$(mktemp --directory)"
readonly programs
trap 'rm -rf "${programs}"' EXIT

main() {
  cd "${1:-.}"
  mkdir -p docs/reference
  go build -o "${programs}/manager" .
  go build -o "${programs}/capcon" ./cmd/capcon
  api >docs/reference/api.md
  conditions >docs/reference/conditions.md
  flags >docs/reference/flags.md
  capcon >docs/reference/capcon.md
  grep --recursive --files-with-matches --include='*.md' '<!-- end -->' README.md docs | xargs go run ./hack/reference results lab/bench/results
  go run ./hack/book docs/book/*.md
}

# head_of: $1 is the title, $2 what it is written from.
head_of() { printf '<!-- Written by "make generate" from %s. Change it there. -->\n\n# %s\n' "$2" "$1"; }

api() {
  local generator output="${programs}/api.md"
  generator="$(tool crd-ref-docs)"
  "${generator}" --source-path=api/v1beta2 --config="${root}/hack/reference/crd-ref-docs.yaml" \
    --renderer=markdown --max-depth=12 --output-path="${output}" --log-level=ERROR >&2
  head_of "API" "api/v1beta2"
  # Its own title, and blanks at ends of lines, are left out.
  sed -e '1{/^# /d}' -e 's/[[:space:]]*$//' "${output}" | cat --squeeze-blank
  limits
}

limits() {
  printf '\n## Limits\n\n'
  printf 'What comes from users, other controllers, containers and engines has these limits, besides those of\n'
  printf 'the fields above. What exceeds one is refused, or cut off where the text says so.\n\n'
  go run ./hack/reference limits internal controllers cmd
}

conditions() {
  head_of "Conditions and reasons" "api/v1beta2/conditions.go"
  printf '\nWhat to do about a reason is in [Troubleshooting](../troubleshooting.md).\n'
  go run ./hack/reference api/v1beta2/conditions.go | cat --squeeze-blank
}

flags() {
  head_of "Flags of the manager" "options.go"
  printf '\n```text\n'
  # Its usage is written to the standard error.
  "${programs}/manager" --help 2>&1 | sed -e '/^Usage of/d' -e '/^pflag: help requested$/d' -e 's/[[:space:]]*$//'
  printf '```\n'
}

capcon() {
  local command
  head_of "Commands of capcon" "cmd/capcon"
  usage
  # What its list of commands begins each line with.
  for command in $("${programs}/capcon" --help | awk '/^Available Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'); do
    case "${command}" in
    completion | help) ;;
    *)
      printf '\n## capcon %s\n' "${command}"
      usage "${command}"
      ;;
    esac
  done
}

usage() {
  printf '\n```text\n'
  "${programs}/capcon" "$@" --help | sed 's/[[:space:]]*$//'
  printf '```\n'
}

main "$@"
