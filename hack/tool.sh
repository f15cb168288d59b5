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

# Prints the path of a development tool at its pinned version and builds it first
# where the cache has none. The only place where the versions of tools stand.
#
#   hack/tool.sh controller-gen

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

declare -Ar packages=(
  [clusterctl]="sigs.k8s.io/cluster-api/cmd/clusterctl@v1.14.2"
  # What "clusterctl upgrade" is tested from.
  [clusterctl-previous]="sigs.k8s.io/cluster-api/cmd/clusterctl@v1.13.2"
  [controller-gen]="sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0"
  [crd-ref-docs]="github.com/elastic/crd-ref-docs@v0.2.0"
  [golangci-lint]="github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.9.0"
  [gotestsum]="gotest.tools/gotestsum@v1.13.0"
  [gremlins]="github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0"
  [helm]="helm.sh/helm/v4/cmd/helm@v4.0.4"
  [hugo]="github.com/gohugoio/hugo@v0.165.0"
  [kind]="sigs.k8s.io/kind@v0.33.0"
  [kustomize]="sigs.k8s.io/kustomize/kustomize/v5@v5.8.1"
)

main() {
  local name="${1:?usage: tool.sh NAME}" package directory
  package="${packages[${name}]:-}"
  [[ -n "${package}" ]] || die "No tool ${name} is pinned." "Known: ${!packages[*]}"
  directory="${cache}/tools/${name}-${package##*@}"
  if [[ ! -x "${directory}/${name}" ]]; then
    build "${name}" "${package}" "${directory}" >&2
  fi
  echo "${directory}/${name}"
}

# build moves the finished binary into place, so that two clones that build
# concurrently never see half of one.
build() {
  local name="$1" package="$2" directory="$3" scratch
  say "Building ${package}, because ${directory} has none."
  mkdir -p "${directory}"
  scratch="$(mktemp --directory "${directory}/build.XXXXXX")"
  # As the Makefile has them, so that packages are compiled once; other flags are the
  # repository's, and a cross build would not run here.
  (
    unset GOOS GOARCH
    export GOFLAGS=-trimpath CGO_ENABLED=0
    compile "${name}" "${package}" "${scratch}"
  ) ||
    { rm -rf "${scratch}"; die "${package} cannot be built." "Read the messages above; is the Go module proxy reachable?"; }
  mv "${scratch}/${name}" "${directory}/${name}"
  rmdir "${scratch}"
}

# compile makes NAME in a directory. "go install" refuses modules that replace others, as
# Cluster API does since 1.14 with its own API: those are built as a requirement of an
# empty module, where their replacements do not count and the versions are the same.
compile() {
  local name="$1" package="$2" scratch="$3" version="${2##*@}" modules=("$2")
  if [[ "${package}" != sigs.k8s.io/cluster-api/* ]]; then
    GOBIN="${scratch}" go install "${package}"
    return
  fi
  if [[ "${version}" != v1.13.* ]]; then
    modules+=("sigs.k8s.io/cluster-api/api@${version}")
  fi
  mkdir "${scratch}/module"
  # Without a version in it, it takes itself for one that is under development.
  (cd "${scratch}/module" && go mod init tool && go get "${modules[@]}" &&
    go build -ldflags="-X sigs.k8s.io/cluster-api/version.gitVersion=${version}" -o "${scratch}/${name}" "${package%@*}") &&
    rm -rf "${scratch}/module"
}

main "$@"
