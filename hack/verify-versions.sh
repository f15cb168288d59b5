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

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

wrong=()

main() {
  same "Cluster API and its api module" \
    "$(required go.mod sigs.k8s.io/cluster-api)" "$(required go.mod sigs.k8s.io/cluster-api/api)"
  same "Cluster API and its clusterctl" \
    "$(required go.mod sigs.k8s.io/cluster-api)" "$(sed -n 's|.*\[clusterctl\]=.*@\(v[^"]*\)".*|\1|p' hack/tool.sh)"
  same "Cluster API and the images of its managers" \
    "$(required go.mod sigs.k8s.io/cluster-api)" "$(required lab/images/cluster-api/go.mod sigs.k8s.io/cluster-api)"
  same "Kubernetes of nodes and its conformance tests" \
    "$(required lab/images/kubernetes/go.mod k8s.io/kubernetes)" "$(required lab/images/conformance/go.mod k8s.io/kubernetes)"
  same "Kubernetes of nodes and of metrics-server, which share compiled packages" \
    "$(required lab/images/kubernetes/go.mod k8s.io/component-base)" "$(required lab/images/metrics-server/go.mod k8s.io/component-base)"
  same "k8s.io/api and k8s.io/apimachinery" \
    "$(required go.mod k8s.io/api)" "$(required go.mod k8s.io/apimachinery)"
  same "k8s.io/api and k8s.io/client-go" \
    "$(required go.mod k8s.io/api)" "$(required go.mod k8s.io/client-go)"
  same "Cluster API and its e2e specs" \
    "$(required go.mod sigs.k8s.io/cluster-api)" "$(required e2e/go.mod sigs.k8s.io/cluster-api/test)"
  same "kind's files in node images and its library" \
    "$(required lab/images/builder/go.mod sigs.k8s.io/kind)" "$(required e2e/go.mod sigs.k8s.io/kind)"
  local directory module version tool
  for tool in controller-gen kustomize; do
    same "${tool} here and in the template" \
      "$(sed -n "s|.*\[${tool}\]=.*@\(v[^\"]*\)\".*|\1|p" hack/tool.sh)" "$(sed -n "s|.*/${tool}\(/v5\)\?@\(v.*\)|\2|p" template/Makefile)"
  done
  for directory in contract contract/test e2e lab template template/e2e; do
    while read -r module version; do
      same "${module} in go.mod and in ${directory}/go.mod" "$(required go.mod "${module}")" "${version}"
    done < <(shared go.mod "${directory}/go.mod")
  done
  while IFS= read -r module; do
    same "the Go version of go.mod and of ${module}" \
      "$(go_minor go.mod)" "$(go_minor "${module}")"
  done < <(source_files 'lab/images/*/go.mod' contract/go.mod contract/test/go.mod e2e/go.mod lab/go.mod template/go.mod template/e2e/go.mod)
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

# shared prints the modules that the second go.mod requires itself and the first has too,
# with the second's versions.
shared() {
  local module version
  go mod edit -json "$2" | awk '
    $1 == "\"Path\":" {path = $2}
    $1 == "\"Version\":" {version = $2}
    $1 == "\"Indirect\":" {version = ""}
    $1 ~ /^}/ && version != "" {gsub(/[",]/, "", path); gsub(/[",]/, "", version); print path, version; version = ""}' |
    while read -r module version; do
      if [[ -n "$(required "$1" "${module}")" ]]; then
        echo "${module} ${version}"
      fi
    done
}

go_minor() { awk '$1 == "go" {split($2, part, "."); print part[1] "." part[2]; exit}' "$1"; }

main "$@"
