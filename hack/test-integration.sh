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

# Runs the tests that need a real engine and the images: the conformance suite,
# networks, load balancers, and the processes of the management plane.
#
#   hack/test-integration.sh [PACKAGE]...     default: all that have such tests
#
# Environment:
#   ENGINE  docker, podman or auto (default)
#   TIMEOUT of a package's tests; default 20m
#   SCOPE   which of the packages whose tests use no engine: all (default), none, or I/N,
#           the Ith share of N engines
#   MODULE  run the packages given in that module, without the race detector

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The plane's tests run its processes on this machine.
readonly plane_image="localhost/capcon/plane:dev"
readonly tests='^TestIntegration'

main() {
  local packages=("$@")
  use_engine
  if ((${#packages[@]} == 0)); then
    mapfile -t packages < <(packages_with_tests)
  fi
  CAPCON_PLANE_BINARIES="$(image_programs "${plane_image}")"
  export CAPCON_PLANE_BINARIES
  export KUBEBUILDER_ASSETS="${CAPCON_PLANE_BINARIES}"
  if [[ -n "${MODULE:-}" ]]; then
    # Cluster API is not compiled again for the race detector.
    hack/test-go.sh "integration-${MODULE//\//-}" -count=1 -run "${tests}" -timeout="${TIMEOUT:-25m}" "${packages[@]}"
    return
  fi
  # Two packages at a time: the other engine's suite may run alongside them, and tests on an
  # overloaded host fail by their limits.
  RACE=yes hack/test-go.sh "integration-${ENGINE}" -count=1 -run "${tests}" -p=2 -timeout="${TIMEOUT:-20m}" "${packages[@]}"
}

# packages_with_tests are all but those of the other engines, and those of SCOPE.
packages_with_tests() {
  local package position=0
  grep --recursive --files-with-matches --include='*_test.go' --exclude-dir=lab '^func TestIntegration' . |
    grep --invert-match --extended-regexp '^\./(contract|e2e|template)/' |
    xargs --no-run-if-empty --max-args=1 dirname | sort --unique |
    while IFS= read -r package; do
      case "${package}" in
      ./internal/engine/"${ENGINE}" | ./internal/engine/simulated) echo "${package}" ;;
      ./internal/engine/*) ;;
      *)
        if uses_engine "${package}" || in_scope "$((position++))"; then
          echo "${package}"
        fi
        ;;
      esac
    done
}

uses_engine() { grep --quiet --fixed-strings 'integration.Engine(' "$1"/*_test.go; }

in_scope() {
  case "${SCOPE:-all}" in
  all) ;;
  none) return 1 ;;
  *) (($1 % ${SCOPE#*/} == ${SCOPE%/*} - 1)) ;;
  esac
}

main "$@"
