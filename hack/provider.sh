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

# Writes a provider of your own from template, with generated files in their order.
#
#   NAME=frost DIR=../cluster-api-provider-frost hack/provider.sh
#
# Environment:
#   KIND_PREFIX  what the kinds begin with; default Frost, as the name
#   MODULE       path of the Go module; default example.com/cluster-api-provider-frost
#   GROUP        API group of the kinds; default that of Cluster API's own providers

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  [[ -n "${NAME:-}" && -n "${DIR:-}" ]] || die "NAME and DIR are needed." "Run: make provider NAME=frost DIR=../cluster-api-provider-frost"
  go run ./hack/provider --name "${NAME}" ${KIND_PREFIX:+--kind-prefix "${KIND_PREFIX}"} \
    ${MODULE:+--module "${MODULE}"} ${GROUP:+--group "${GROUP}"} "${DIR}"
  make -C "${DIR}" generate CONTROLLER_GEN="$(tool controller-gen)"
  say "Next: cd ${DIR} && git init && make test"
}

main "$@"
