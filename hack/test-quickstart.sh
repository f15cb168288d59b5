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

# Takes clusters through their life with capcon, on a real engine: made, scaled,
# used, interrupted, deleted, with nothing left. Each test is described where it
# is, with the variables that it takes from the environment.
#
#   hack/test-quickstart.sh [TEST]...     default: Quickstart
#
# Environment:
#   ENGINE  docker, podman or auto (default)
#   ALL     set: also the steps of the quick start that the other engine runs
#   CI      set: a restart that this engine must not have fails, and is not skipped

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  local tests=("$@") names packages
  if ((${#tests[@]} == 0)); then
    tests=(Quickstart)
  fi
  names="Test($(IFS='|'; echo "${tests[*]}"))"
  mapfile -t packages < <(grep --recursive --files-with-matches --include='*_test.go' --extended-regexp "^func ${names}\(" e2e/capcon |
    xargs --no-run-if-empty --max-args=1 dirname | sort --unique | sed 's,^e2e,.,')
  ((${#packages[@]} > 0)) || die "There is no test ${tests[*]} in e2e/capcon." "Known: make e2e-list"
  use_engine
  # Never from Go's cache: what it proves is not in the sources only. What is made in
  # parallel are clusters, which wait more than they compute: not one for each processor.
  MODULE=e2e FORMAT=standard-verbose hack/test-go.sh "quickstart-${ENGINE}" -count=1 -p=1 -parallel=8 -timeout=5h -v \
    -run "^${names}\$" "${packages[@]}"
}

main "$@"
