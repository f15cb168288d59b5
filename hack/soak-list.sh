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

# Creates many containers and lists them in one call, by the conformance suite.
#
#   hack/soak-list.sh
#
# Environment:
#   LIST_SIZE  how many (default 1000)
#   ENGINE     docker, podman or auto (default)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  use_engine
  LIST_SIZE="${LIST_SIZE:-1000}" FORMAT=standard-verbose hack/test-go.sh "soak-list-${ENGINE}" -count=1 -timeout=1h -v \
    -run '^TestIntegrationConformance$/containers/list_of_many$' "./internal/engine/${ENGINE}"
}

main "$@"
