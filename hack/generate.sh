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

# Writes all generated files: deepcopy functions, custom resource definitions,
# roles, webhook configurations, and what "go generate" makes: manifests of the
# plane, and pages of the documentation.
#
#   hack/generate.sh [DIRECTORY]     default: the repository itself

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  local generator
  generator="$(tool controller-gen)"
  cd "${1:-.}"
  "${generator}" object:headerFile=hack/boilerplate.go.txt paths=./api/...
  # Removed first: a definition whose type is gone must not stay.
  rm -f config/crd/bases/*.yaml
  "${generator}" crd paths=./api/... output:crd:dir=config/crd/bases
  "${generator}" rbac:roleName=manager-role "paths=.;./controllers/..." output:rbac:dir=config/rbac
  "${generator}" webhook paths=./internal/webhooks/... output:webhook:dir=config/webhook
  make -C template generate CONTROLLER_GEN="${generator}"
  go generate ./...
  "${root}/hack/reference.sh" "$(pwd)"
}

main "$@"
