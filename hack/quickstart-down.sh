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

# Removes what quickstart.sh made from the engine and from the state directory, and
# says what stays.
#
#   hack/quickstart-down.sh
#
# Environment:
#   ENGINE  docker, podman or auto (default)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  use_engine
  make build-capcon
  bin/capcon down quickstart --engine "${ENGINE}"
  cat <<TEXT

What stays, and how to remove it:
  images in the engine    ${ENGINE} image rm \$(${ENGINE} image ls --quiet 'localhost/capcon/*')
  builds and tools        rm -rf ${cache}
  the engine, where "make engine" started it
                          make engine-stop ENGINE=${ENGINE}
TEXT
}

main "$@"
