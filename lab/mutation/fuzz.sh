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

# Runs each fuzz target, one after the other, and prints a line for each:
# executions, new interesting inputs, result. A target that fails leaves its
# input below testdata/fuzz of its package, where go test runs it from then on.
#
#   lab/mutation/fuzz.sh [PACKAGE...]     default: all
#
# Environment:
#   FUZZTIME  for each target (default 10m)
#   TARGET    only those whose name matches this regular expression

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

output="$(mktemp)"
readonly output
trap 'rm -f "${output}"' EXIT

main() {
  local package target failed=0
  printf '| Target | Package | Executions | New inputs | Result |\n|---|---|---|---|---|\n'
  while read -r package; do
    for target in $(go test -tags=remote -list "^Fuzz.*${TARGET:-}" "${package}" | grep '^Fuzz' || true); do
      fuzz "${package}" "${target}" || failed=1
    done
  done < <(with_targets "$@")
  ((failed == 0)) || die "A target failed: see above, and the new input below its testdata/fuzz." "Fix it, and keep the input."
}

# with_targets lists the packages that have targets.
with_targets() {
  local list='{{range .TestGoFiles}}{{$.Dir}}/{{.}} {{$.ImportPath}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$.Dir}}/{{.}} {{$.ImportPath}}{{"\n"}}{{end}}'
  (($# > 0)) || set -- ./...
  go list -tags=remote -f "${list}" "$@" | while read -r file package; do
    if [[ -n "${file}" ]] && grep --quiet '^func Fuzz' "${file}"; then echo "${package}"; fi
  done | sort --unique
}

# fuzz: an input that is interesting is minimized a little only, which takes as
# long as fuzzing otherwise.
fuzz() {
  local result=ok executions inputs
  go test -tags=remote -run='^$' -fuzz="^$2\$" -fuzztime="${FUZZTIME:-10m}" -fuzzminimizetime=20x "$1" >"${output}" 2>&1 || result=FAILED
  # Go before 1.27 reports the end of the time as a failure now and then, without an input
  # that failed: go.dev/issue/75804.
  if grep --quiet '^    context deadline exceeded$' "${output}" && ! grep --quiet 'Failing input' "${output}"; then
    result=ok
  fi
  executions="$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "${output}" | tail -n 1)"
  inputs="$(sed -n 's/.*new interesting: \([0-9]*\).*/\1/p' "${output}" | tail -n 1)"
  printf '| %s | %s | %s | %s | %s |\n' "$2" "${1#*/cluster-api-provider-container/}" "${executions:-0}" "${inputs:-0}" "${result}"
  if [[ "${result}" != ok ]]; then
    cat "${output}" >&2
    return 1
  fi
}

main "$@"
