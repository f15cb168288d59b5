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

# Makes a Go module of e2e/example, as another project has it: with a checkout of
# this repository at capcon. It has the requirements of the module e2e, so that Go needs no
# network.
#
#   hack/example-module.sh DIRECTORY     empty

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly path=github.com/capi-samples/cluster-api-provider-container

main() {
  local directory="${1:?usage: example-module.sh DIRECTORY}"
  install --mode=644 "${root}"/e2e/example/* "${root}"/e2e/go.{mod,sum} "${directory}"
  ln -s "${root}" "${directory}/capcon"
  cd "${directory}"
  go mod edit -module=example.com/project/e2e -require="${path}/e2e@v0.0.0-00010101000000-000000000000" \
    -replace="${path}=${root}" -replace="${path}/e2e=${root}/e2e"
}

main "$@"
