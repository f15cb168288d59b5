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

# Writes what clusterctl installs on a management cluster besides this provider: Cluster
# API's core, bootstrap and control plane providers and cert-manager, made of the Go
# modules that their images are built from. The directory has the layout of a local
# repository of clusterctl. Images have the references of Cluster API's releases.
#
#   lab/images/manifests.sh [PART]...     default: cluster-api cert-manager
#
# Parts are directories of lab/images/: cluster-api, cluster-api-previous, cert-manager.
#
# Environment:
#   RELEASE_DIR  below it the files are at <provider>/<version>; default:
#                _artifacts/release, where "make release-manifests" adds this provider

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

main() {
  local part
  release_dir="${RELEASE_DIR:-_artifacts/release}"
  mkdir -p "${release_dir}" _artifacts
  # kustomize finds its bases by relative paths.
  scratch="$(mktemp --directory _artifacts/management.XXXXXX)"
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '${root}/${scratch}'" EXIT
  if (($# == 0)); then
    set -- cluster-api cert-manager
  fi
  for part in "$@"; do
    case "${part}" in
    cluster-api | cluster-api-previous) cluster_api "${part}" ;;
    cert-manager) cert_manager ;;
    *) die "There is no part ${part}." "Known: cluster-api, cluster-api-previous, cert-manager" ;;
    esac
  done
}

# module prints version and directory of a module that a component is built from.
module() {
  go -C "lab/images/$1" mod download "$2"
  go -C "lab/images/$1" list -m -f '{{.Version}} {{.Dir}}' "$2"
}

cluster_api() {
  local found version directory core
  found="$(module "$1" sigs.k8s.io/cluster-api)"
  version="${found%% *}" directory="${found#* }"
  core=core/config
  if [[ ! -d "${directory}/${core}" ]]; then
    core=config # before v1.14
  fi
  overlay "${directory}/${core}/default" cluster-api-controller "${version}" >"${scratch}/core-components.yaml"
  overlay "${directory}/bootstrap/kubeadm/config/default" kubeadm-bootstrap-controller "${version}" >"${scratch}/bootstrap-components.yaml"
  overlay "${directory}/controlplane/kubeadm/config/default" kubeadm-control-plane-controller "${version}" >"${scratch}/control-plane-components.yaml"
  place cluster-api "${version}" "${scratch}/core-components.yaml" "${directory}/metadata.yaml"
  place bootstrap-kubeadm "${version}" "${scratch}/bootstrap-components.yaml" "${directory}/metadata.yaml"
  place control-plane-kubeadm "${version}" "${scratch}/control-plane-components.yaml" "${directory}/metadata.yaml"
}

# overlay prints a directory's objects with the image of a release. In the module they
# have the image of the main branch, and pull it at each start.
overlay() {
  local directory="$1" image="$2" version="$3" kustomize
  kustomize="$(tool kustomize)"
  cat >"${scratch}/kustomization.yaml" <<EOF
resources:
  - $(realpath --relative-to="${scratch}" "${directory}")
images:
  - name: gcr.io/k8s-staging-cluster-api/${image}
    newName: registry.k8s.io/cluster-api/${image}
    newTag: ${version}
patches:
  - target: {kind: Deployment}
    patch: |
      - {op: replace, path: /spec/template/spec/containers/0/imagePullPolicy, value: IfNotPresent}
EOF
  "${kustomize}" build "${scratch}"
}

cert_manager() {
  local found version
  found="$(module cert-manager github.com/cert-manager/cert-manager)"
  version="${found%% *}"
  # As the image is built, so that packages are compiled once.
  go -C lab/images/cert-manager run ./manifest "${found#* }" "${version}" >"${scratch}/cert-manager.yaml"
  place cert-manager "${version}" "${scratch}/cert-manager.yaml"
}

# place copies files of one provider to where clusterctl looks for them.
place() {
  local into="${release_dir}/$1/$2"
  mkdir -p "${into}"
  # Files of the module cache cannot be written.
  install --mode=644 "${@:3}" "${into}"
  say "${into} has $(cd "${into}" && echo *)."
}

main "$@"
