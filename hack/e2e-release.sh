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

# Makes a release and installs it from its files alone, in a root file system that has
# only them and the engine's socket, and so no Go: a cluster by capcon, on the images of the
# release; below it, the management plane of the next release; and in it the provider, by
# "clusterctl init". As root, for that root file system.
#
#   hack/e2e-release.sh
#
# Environment:
#   VERSION    of the release; default v0.1.99-dirty, which is made from any source
#   PLATFORMS  that a trial has capcon for; default: that of this machine
#   LIMIT      seconds in which the cluster must be ready; default 60
#   ENGINE     docker, podman or auto (default), at its default socket

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly cluster="release-e2e"
# What clusterctl installs alongside the provider.
readonly managers=({cluster-api,kubeadm-bootstrap,kubeadm-control-plane}-controller cert-manager-{controller,webhook,cainjector})

export VERSION="${VERSION:-v0.1.99-dirty}"
# Where the sockets of the engines of root are.
readonly sockets="/run"
directory="${root}/_artifacts/release/infrastructure-container/${VERSION}"
# Images that the engine gets for this test.
loaded=("localhost/capcon/plane:${VERSION}" "localhost/capcon/manager:${VERSION}")

main() {
  [[ "${EUID}" -eq 0 ]] || die "To make a root file system takes root." "Run: sudo --preserve-env make e2e RUN=release"
  use_engine
  [[ -S "${sockets}/${ENGINE}.sock" || -S "${sockets}/${ENGINE}/${ENGINE}.sock" ]] ||
    die "There is no socket of ${ENGINE} below ${sockets}." "Run: make engine ENGINE=${ENGINE}"
  needs_no_plane
  # Only the program that runs here, for a trial.
  [[ "${VERSION}" != *-dirty ]] || export PLATFORMS="${PLATFORMS:-$(go env GOOS)/$(go env GOARCH)}"
  hack/release.sh
  needs_no_plane # still
  work="$(mktemp --directory)"
  trap clean_up EXIT
  (cd "${directory}" && sha256sum --check --quiet checksums.txt)
  cp --reflink=auto --recursive "${directory}" "$(in_system)/release"
  has_no_go
  names_the_archive
  makes_a_cluster
  upgrades_the_plane
  initializes
  say "PASS: ${VERSION} installs from its files on ${ENGINE}, in ${SECONDS} s."
}

needs_no_plane() {
  if engine container inspect capcon-plane >/dev/null 2>&1; then
    die "The engine has a management plane, which this test would replace." "Delete its clusters, and run: capcon plane down"
  fi
}

clean_up() {
  capcon down "${cluster}" --engine "${ENGINE}" || true
  capcon plane down --engine "${ENGINE}" || true
  engine image rm "${loaded[@]}" >/dev/null 2>&1 || true
  rm -rf "${work}"
  # The release's have the names of those that are built here.
  go -C lab/images/builder run . -load "$(engine_command)" node haproxy
}

# in_system prints the directory of the root file system, which is made at first.
in_system() {
  mkdir -p "${work}/system"/{proc,tmp,root,var} "${work}/system${sockets}"
  ln --symbolic --force --no-dereference "${sockets}" "${work}/system/var/run"
  echo "${work}/system"
}

# chrooted runs a program of that root file system, with the environment of a user who has
# just logged in. Its mounts end with it.
chrooted() {
  # shellcheck disable=SC2016 # expanded by the other shell
  env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root KUBECONFIG=/tmp/kubeconfig unshare --mount sh -ec '
    mount -t proc proc "$1/proc"
    mount --rbind "$2" "$1$2"
    system="$1"
    shift 2
    exec chroot "${system}" "$@"' sh "$(in_system)" "${sockets}" "$@"
}

# capcon of the release, and later of the next one.
program="/release/capcon-linux-$(go env GOARCH)"
capcon() { chrooted "${program}" "$@"; }

has_no_go() {
  if chrooted go version 2>/dev/null; then
    die "The root file system has Go."
  fi
}

# fails prints the error of capcon, which must not succeed.
fails() {
  local message
  if message="$(capcon "$@" 2>&1)"; then
    die "capcon $* succeeds: ${message}"
  fi
  echo "${message}"
}

# names_the_archive: an engine without the plane's image gets the exact remedy.
names_the_archive() {
  local message
  message="$(capcon version)"
  [[ "${message}" == *" ${VERSION}"* ]] || die "capcon is not ${VERSION}: ${message}"
  engine image rm "localhost/capcon/plane:${VERSION}" >/dev/null 2>&1 || true
  message="$(fails plane up --engine "${ENGINE}")"
  [[ "${message}" == *"\"capcon images load plane-linux-"* ]] || die "The message does not name the archive: ${message}"
}

makes_a_cluster() {
  local began architecture
  architecture="$(go env GOARCH)"
  capcon images load --engine "${ENGINE}" /release/{haproxy,node,plane}-linux-"${architecture}".tar
  began="${SECONDS}"
  capcon up "${cluster}" --engine "${ENGINE}" --workers 1
  say "The cluster is ready after $((SECONDS - began)) s."
  ((SECONDS - began <= ${LIMIT:-60})) || die "That is more than ${LIMIT:-60} s."
  has_licenses "localhost/capcon/plane:${VERSION}"
  capcon plane up --engine "${ENGINE}" # waits until it is ready again on a busy machine
  capcon kubeconfig --management --engine "${ENGINE}" >"${work}/plane.kubeconfig"
  capcon kubeconfig "${cluster}" --engine "${ENGINE}" >"${work}/kubeconfig"
  version="$(kubectl get nodes --output jsonpath='{.items[0].status.nodeInfo.kubeletVersion}')"
  has_licenses "$(reference node)"
  records "${VERSION}"
}

# has_licenses of its Go modules in an image.
has_licenses() {
  local container
  container="$(engine create "$1")"
  engine cp "${container}:/usr/share/doc/capcon/third-party-licenses.txt" "${work}/licenses"
  engine rm "${container}" >/dev/null
  grep --quiet '^- k8s.io/api ' "${work}/licenses" || die "$1 does not have the licenses of its modules."
}

# records: the management plane says which release of this provider it runs.
records() {
  local providers
  providers="$(kubectl --kubeconfig "${work}/plane.kubeconfig" get providers --all-namespaces --output jsonpath='{.items[*].version}')"
  [[ " ${providers} " == *" $1 "* ]] || die "The management plane does not record $1 of this provider: ${providers}"
}

# upgrades_the_plane to the next release, below the cluster, which stays as it is.
upgrades_the_plane() {
  local next message before earlier="${program}"
  next="$(next_version)"
  loaded+=("localhost/capcon/plane:${next}")
  go -C lab/images/builder run . -version "${next}" -output "$(in_system)/next" plane-release
  go build -ldflags="-s -w -X github.com/capi-samples/cluster-api-provider-container/internal/release.version=${next}" \
    -o "$(in_system)/next/capcon" ./cmd/capcon
  before="$(observed)"

  program="/next/capcon"
  message="$(capcon status --engine "${ENGINE}" || (($? == 4)))"
  [[ "${message}" == *"${VERSION} is earlier than that of capcon, ${next}"*"capcon plane up"* ]] || die "status does not name the upgrade: ${message}"
  message="$(fails plane up --engine "${ENGINE}")"
  [[ "${message}" == *"\"capcon images load plane-linux-"* ]] || die "The message does not name the archive: ${message}"
  records "${VERSION}"

  capcon images load --engine "${ENGINE}" "/next/plane-linux-$(go env GOARCH).tar"
  capcon plane up --engine "${ENGINE}"
  capcon kubeconfig --management --engine "${ENGINE}" >"${work}/plane.kubeconfig"
  records "${next}"
  message="$(capcon status --engine "${ENGINE}" || (($? == 4)))"
  [[ "${message}" != *"that of capcon"* ]] || die "The releases differ after the upgrade: ${message}"
  [[ "$(observed)" == "${before}" ]] || die "The cluster is not what it was before the upgrade." "Before:" "${before}" "After:" "$(observed)"
  message="$(program="${earlier}" capcon status --engine "${ENGINE}" || (($? == 4)))"
  [[ "${message}" == *"${next} is later than that of capcon, ${VERSION}"* ]] || die "status does not name the later release: ${message}"
  capcon up "${cluster}" --engine "${ENGINE}" --workers 2
}

# next_version is a trial of the patch release after this one.
next_version() {
  local series="${VERSION%%-*}"
  echo "${series%.*}.$((${series##*.} + 1))-dirty"
}

# observed prints the containers of the cluster, and the identities of its Nodes.
observed() {
  engine ps --no-trunc --filter "name=${cluster}" --format '{{.ID}} {{.Names}}' | sort
  kubectl get nodes --output jsonpath='{range .items[*]}{.metadata.uid} {.status.nodeInfo.bootID}{"\n"}{end}' | sort
}

# clusterctl without the configuration of the user, and without its check for updates.
clusterctl() {
  local clusterctl
  clusterctl="$(tool clusterctl)"
  XDG_CONFIG_HOME="${work}/config" CLUSTERCTL_DISABLE_VERSIONCHECK=true GOPROXY=off KUBECONFIG="${work}/kubeconfig" \
    "${clusterctl}" --config "${work}/clusterctl.yaml" "$@"
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
  go -C lab/images/builder run . "${managers[@]}"
  local name archives=("/release/manager-linux-$(go env GOARCH).tar")
  for name in "${managers[@]}"; do
    cp --reflink=auto --dereference "${cache}/images/${name}.tar" "$(in_system)/tmp"
    archives+=("/tmp/${name}.tar")
    engine image inspect "$(reference "${name}")" >/dev/null 2>&1 || loaded+=("$(reference "${name}")")
  done
  RELEASE_DIR="${work}/repository" lab/images/manifests.sh
  configure >"${work}/clusterctl.yaml"
  capcon load "${cluster}" --engine "${ENGINE}" "${archives[@]}"
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
