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

# Upgrades capcon and its management plane with a live cluster, from an earlier commit that
# hack/previous.sh builds.
#
#   hack/e2e-upgrade.sh
#
# Environment:
#   ENGINE  docker, podman or auto (default)
#   FROM    commit; default: that of hack/previous.sh

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  local previous
  use_engine
  previous="$(hack/previous.sh capcon)"
  # First what both versions need: the test loads the new plane over the earlier one.
  make images-load
  trap 'make images-load' EXIT
  engine image load --quiet --input "${previous}/plane.tar"
  PREVIOUS_CAPCON="${previous}/capcon" hack/test-quickstart.sh Upgrade
}

main "$@"
