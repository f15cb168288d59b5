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

# Makes a release and installs it from its files alone: a cluster by capcon, on the images
# of the release; and in this cluster the provider, by "clusterctl init".
#
#   hack/e2e-release.sh
#
# Environment:
#   VERSION  of the release; default v0.1.99-dirty, which is made from any source
#   ENGINE   docker, podman or auto (default)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly cluster="release-e2e"
# What clusterctl installs beside the provider.
readonly managers=({cluster-api,kubeadm-bootstrap,kubeadm-control-plane}-controller cert-manager-{controller,webhook,cainjector})

export VERSION="${VERSION:-v0.1.99-dirty}"
directory="${root}/_artifacts/release/infrastructure-container/${VERSION}"
# Images that the engine gets for this test.
loaded=("localhost/capcon/plane:${VERSION}" "localhost/capcon/manager:${VERSION}")

main() {
  use_engine
  hack/release.sh
  go -C images/builder run . "${managers[@]}"
  if engine container inspect capcon-plane >/dev/null 2>&1; then
    die "The engine has a management plane, which this test would replace." "Delete its clusters, and run: capcon plane down"
  fi
  work="$(mktemp --directory)"
  capcon="${directory}/capcon-$(go env GOOS)-$(go env GOARCH)"
  export XDG_STATE_HOME="${work}/state" # not that of the user's clusters
  trap clean_up EXIT
  (cd "${directory}" && sha256sum --check --quiet checksums.txt)
  names_the_archive
  makes_a_cluster
  initializes
  say "PASS: ${VERSION} installs from its files on ${ENGINE}, in ${SECONDS} s."
}

clean_up() {
  "${capcon}" down "${cluster}" --engine "${ENGINE}" || true
  "${capcon}" plane down --engine "${ENGINE}" || true
  engine image rm "${loaded[@]}" >/dev/null 2>&1 || true
  rm -rf "${work}"
}

# names_the_archive: an engine without the plane's image gets the exact remedy.
names_the_archive() {
  local message
  message="$("${capcon}" version)"
  [[ "${message}" == *" ${VERSION}"* ]] || die "capcon is not ${VERSION}: ${message}"
  engine image rm "localhost/capcon/plane:${VERSION}" >/dev/null 2>&1 || true
  if message="$("${capcon}" plane up --engine "${ENGINE}" 2>&1)"; then
    die "A management plane starts without its image."
  fi
  [[ "${message}" == *"\"capcon images load plane-linux-"* ]] || die "The message does not name the archive: ${message}"
}

makes_a_cluster() {
  local providers
  "${capcon}" images load --engine "${ENGINE}" "${directory}"/{haproxy,node,plane}-linux-*.tar
  "${capcon}" up "${cluster}" --engine "${ENGINE}" --workers 1
  "${capcon}" kubeconfig --management --engine "${ENGINE}" >"${work}/plane.kubeconfig"
  "${capcon}" kubeconfig "${cluster}" --engine "${ENGINE}" >"${work}/kubeconfig"
  version="$(kubectl get nodes --output jsonpath='{.items[0].status.nodeInfo.kubeletVersion}')"
  providers="$(kubectl --kubeconfig "${work}/plane.kubeconfig" get providers --all-namespaces --output jsonpath='{.items[*].version}')"
  [[ " ${providers} " == *" ${VERSION} "* ]] || die "The management plane does not record ${VERSION} of this provider: ${providers}"
}

# clusterctl without the configuration of the user, and without its check for updates.
clusterctl() {
  local program
  program="$(tool clusterctl)"
  XDG_CONFIG_HOME="${work}/config" CLUSTERCTL_DISABLE_VERSIONCHECK=true GOPROXY=off KUBECONFIG="${work}/kubeconfig" \
    "${program}" --config "${work}/clusterctl.yaml" "$@"
}

# kubectl of the node image.
kubectl() {
  local programs
  programs="$(image_programs "$(reference node)" /usr/bin/kubectl)"
  KUBECONFIG="${work}/kubeconfig" "${programs}/kubectl" "$@"
}

# reference of an image that is built here.
reference() { sed -n 's|.*"reference": "\(.*\)".*|\1|p' "${cache}/images/$1.json"; }

# initializes the cluster as a management cluster, on which the provider's webhooks then
# default and validate a cluster of the release's template.
initializes() {
  local name archives=()
  for name in "${managers[@]}"; do
    archives+=("${cache}/images/${name}.tar")
    engine image inspect "$(reference "${name}")" >/dev/null 2>&1 || loaded+=("$(reference "${name}")")
  done
  RELEASE_DIR="${work}/repository" hack/management-manifests.sh
  configure >"${work}/clusterctl.yaml"
  "${capcon}" load "${cluster}" --engine "${ENGINE}" "${archives[@]}" "${directory}"/manager-linux-*.tar
  clusterctl init --infrastructure container --wait-providers || {
    kubectl --namespace capcon-system describe pods
    kubectl --namespace capcon-system logs --selector control-plane=controller-manager --tail=50
    die "clusterctl init failed."
  }
  clusterctl generate cluster demo --kubernetes-version "${version}" | kubectl apply --dry-run=server --filename -
}

# configure prints clusterctl's configuration: this provider is the release's, and the
# others are those of their modules.
configure() {
  local repository="${work}/repository" label type name
  echo "providers:"
  for label in cluster-api/CoreProvider bootstrap-kubeadm/BootstrapProvider control-plane-kubeadm/ControlPlaneProvider; do
    type="${label#*/}" label="${label%/*}"
    name="${label#bootstrap-}" name="${name#control-plane-}"
    echo "- {name: ${name}, type: ${type}, url: 'file://$(echo "${repository}/${label}"/v*/*components.yaml)'}"
  done
  echo "- {name: container, type: InfrastructureProvider, url: 'file://${directory}/infrastructure-components.yaml'}"
  echo "cert-manager: {version: $(basename "${repository}"/cert-manager/v*), url: 'file://$(echo "${repository}"/cert-manager/v*/*.yaml)'}"
}

main "$@"
