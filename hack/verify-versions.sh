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

# Proves that versions written in more than one place agree: what is built must
# be what is tested and documented.
#
#   hack/verify-versions.sh

set -o errexit -o nounset -o pipefail

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

wrong=()

main() {
  cd "${root}"
  same "Cluster API and its api module" \
    "$(required go.mod sigs.k8s.io/cluster-api)" "$(required go.mod sigs.k8s.io/cluster-api/api)"
  same "Cluster API and its clusterctl" \
    "$(required go.mod sigs.k8s.io/cluster-api)" "$(sed -n 's|.*/cmd/clusterctl@\(v[^"]*\)".*|\1|p' hack/tool.sh)"
  same "Cluster API and the images of its managers" \
    "$(required go.mod sigs.k8s.io/cluster-api)" "$(required images/cluster-api/go.mod sigs.k8s.io/cluster-api)"
  same "k8s.io/api and k8s.io/apimachinery" \
    "$(required go.mod k8s.io/api)" "$(required go.mod k8s.io/apimachinery)"
  same "k8s.io/api and k8s.io/client-go" \
    "$(required go.mod k8s.io/api)" "$(required go.mod k8s.io/client-go)"
  local module
  while IFS= read -r module; do
    same "the Go version of go.mod and of ${module}" \
      "$(go_minor go.mod)" "$(go_minor "${module}")"
  done < <(source_files 'images/*/go.mod')
  if ((${#wrong[@]} > 0)); then
    die "Versions do not agree:" "${wrong[@]}"
  fi
  say "Versions agree."
}

same() {
  if [[ -z "$2" || "$2" != "$3" ]]; then
    wrong+=("$1: ${2:-none found}, ${3:-none found}")
  fi
}

required() { go mod edit -json "$1" | awk -v module="\"$2\"," '$1 == "\"Path\":" {found = $2 == module} $1 == "\"Version\":" && found {gsub(/[",]/, "", $2); print $2; exit}'; }

go_minor() { awk '$1 == "go" {split($2, part, "."); print part[1] "." part[2]; exit}' "$1"; }

main "$@"
