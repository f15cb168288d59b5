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
# last that begins. Tests on engines, which wait more than they compute, run on all engines
# at the same time; each line begins with the name of its engine.
#
#   hack/test.sh
#
# Environment:
#   ENGINE   docker or podman: that engine alone; auto, the Makefile's default, is both
#   ENGINES  the engines that the parts which need one run on, in order. On each: the
#            conformance suite, the quick start, one restart of 1+1 (Docker: its daemon
#            ends and starts; Podman: the host boots), six kills, and what else can
#            be done to containers. An engine that "make engine" did not start by hand,
#            or that runs other containers, is not restarted: that is skipped by its
#            name, which the closing report counts
#   CI       set (as by .ci/run): what would be skipped so fails instead
#   RESTARTS which restarts (e2e/capcon/quickstart/restart_test.go); of them
#            containers-in-random-order needs no engine to itself

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Targets of the Makefile, in order, and those of them that run on each engine.
readonly parts=(verify lint test-unit test-faults test-images)
readonly engine_parts=(engine images-load)
readonly parts_together=(test-integration test-quickstart test-e2e)
case "${ENGINE:-auto}" in
auto) default_engines="docker podman" ;;
*) default_engines="${ENGINE}" ;;
esac
read -r -a engines <<<"${ENGINES:-${default_engines}}"
readonly engines

summary=()
failed=()
# The log of each part that failed and has one.
logs=()

main() {
  local part engine
  rm -rf _artifacts
  for part in "${parts[@]}"; do
    run "${part}"
  done
  for engine in "${engines[@]}"; do
    for part in "${engine_parts[@]}"; do
      run "${part}" "${engine}"
    done
  done
  remove_interrupted
  for part in "${parts_together[@]}"; do
    run_together "${part}"
  done
  report
  echo "PASS: all ${#summary[@]} parts in ${SECONDS} s."
}

# remove_interrupted removes the cluster of a quick start that was interrupted, which began to run
# with its engine. The quick start does so too, but the suite before it fails by its limits next to
# a cluster.
remove_interrupted() {
  local engine
  make build-capcon
  for engine in "${engines[@]}"; do
    KUBECONFIG=_artifacts/kubeconfig bin/capcon down quickstart-test --engine "${engine}" >/dev/null || true # the quick start says why
  done
}

# run runs a part, on an engine if one is named, and ends everything where it does
# not pass.
run() {
  local part="$1" engine="${2:-}" began="${SECONDS}" result=ok
  announce "${part}" "${engine}"
  make_part "${part}" "${engine}" || result=FAILED
  note "${part}" "${engine}" "${result}" "${began}"
  end_if_failed
}

# run_together runs a part on all engines at the same time.
run_together() {
  local part="$1" began="${SECONDS}" engine result
  local -A process=()
  for engine in "${engines[@]}"; do
    announce "${part}" "${engine}"
  done
  # Each in a process group of its own, so that an interrupt can be passed on.
  set -o monitor
  for engine in "${engines[@]}"; do
    { make_part "${part}" "${engine}" 2>&1 | sed --unbuffered "s/^/${engine}: /"; } &
    process["${engine}"]=$!
  done
  set +o monitor
  trap 'end_groups "${process[@]}"; exit 130' INT TERM HUP
  for engine in "${engines[@]}"; do
    result=ok
    wait "${process["${engine}"]}" || result=FAILED
    note "${part}" "${engine}" "${result}" "${began}"
  done
  trap - INT TERM HUP
  end_if_failed
}

end_groups() {
  local leader
  for leader in "$@"; do
    kill -- "-${leader}" 2>/dev/null || true # it may have ended
  done
}

announce() { printf '\n=== make %s\n' "$1${2:+ ENGINE=$2}"; }

# A tool that asks for input would wait forever.
make_part() { make "$1" ${2:+ENGINE="$2" SCOPE="$(scope "$2")"} </dev/null; }

# scope is the share of an engine in the tests that use none.
scope() {
  local position
  for position in "${!engines[@]}"; do
    if [[ "${engines[position]}" == "$1" ]]; then
      echo "$((position + 1))/${#engines[@]}"
    fi
  done
}

# note keeps the line of the closing report, and what did not pass.
note() {
  local part="$1" engine="$2" result="$3" began="$4"
  local name="${part}${engine:+ ${engine}}"
  summary+=("$(printf '%-24s %-7s %5d s   %s' "${name}" "${result}" "$((SECONDS - began))" "$(totals "${name// /-}")")")
  if [[ "${result}" != ok ]]; then
    failed+=("make ${part}${engine:+ ENGINE=${engine}}")
    logs+=("_artifacts/${part#test-}${engine:+-${engine}}.log")
  fi
}

end_if_failed() {
  local what
  if ((${#failed[@]} > 0)); then
    report
    causes "${logs[@]}"
    what="$(printf '%s, ' "${failed[@]}")"
    echo "FAIL: ${what%, } did not pass; ${SECONDS} s in all."
    exit 1
  fi
}

# totals is the closing line of the part's go test, if it has one.
totals() {
  local log="_artifacts/${1#test-}.log"
  if [[ -e "${log}" ]]; then
    sed 's/\x1b\[[0-9;]*m//g' "${log}" | grep '^DONE ' | tail --lines 1
  fi
}

# causes prints the last lines of each failed test, which are below thousands of
# others where engines run together.
causes() {
  local log
  for log in "$@"; do
    if [[ -e "${log}" ]]; then
      echo "=== Failed in ${log}"
      sed 's/\x1b\[[0-9;]*m//g' "${log}" | awk '
        /^=== Failed$/ { summary = 1; next }
        !summary { next }
        /^=== FAIL/ || /^DONE / { for (i = n > 4 ? n - 4 : 0; i < n; i++) print lines[i]; n = 0; if (/^=== FAIL/) print; next }
        NF { lines[n++] = substr($0, 1, 300) }'
    fi
  done
}

# report prints the parts, and keeps them together with those of earlier runs on this machine.
report() {
  mkdir -p "${cache}"
  printf '\n=== Parts\n'
  printf '%s\n' "${summary[@]}" | tee -a "${cache}/test-parts.log"
  printf '%s, commit %s\n\n' "$(date)" "$(commit)" >>"${cache}/test-parts.log"
}

main "$@"
