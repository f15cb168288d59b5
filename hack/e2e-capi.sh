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

# Runs the e2e specs that Cluster API exports against this provider. Reports and logs are
# in _artifacts/e2e.
#
#   hack/e2e-capi.sh           run specs
#   hack/e2e-capi.sh test      run QuickStart alone, with Docker on kind and with Podman on
#                              the plane
#   hack/e2e-capi.sh prepare   only provide _artifacts/e2e/images and components, for the
#                              suites of other projects
#   hack/e2e-capi.sh example   run the suite of such a project: e2e/example
#
# Environment:
#   ENGINE          docker, podman or auto (default)
#   MANAGEMENT      kind (default) makes a management cluster and installs all providers
#                   with clusterctl; plane is capcon's, which has them
#   FOCUS           regular expression of the specs to run, as in e2e/upstream, such as "KCP";
#                   default: all
#   REPEAT          how often, each time with a new management cluster of kind; default 1.
#                   The first result of each counts
#   SKIP_CLEANUP    not empty: clusters and the management cluster stay
#   E2E_REPOSITORY  local repository of clusterctl with the components of Cluster API, of
#                   its release before, and of cert-manager; default: they are made of
#                   the Go modules
#   E2E_IMAGES      directory of archives (*.tar) with the images of these components and
#                   of the provider's manager; not set: they are built offline. Empty:
#                   nodes of management clusters pull them

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

management="${MANAGEMENT:-kind}"
# The images that are built for Pods of management clusters, and those of the Cluster API
# that clusterctl upgrade begins with.
readonly archives=(manager {cluster-api,kubeadm-bootstrap,kubeadm-control-plane}-controller
  cert-manager-{controller,webhook,cainjector})
readonly archives_previous=({cluster-api,kubeadm-bootstrap,kubeadm-control-plane}-controller-previous)
# Of this provider in the repository, as e2e/upstream/config/container.yaml has it.
readonly version=v0.1.99
readonly artifacts="${root}/_artifacts/e2e"

components="${artifacts}/components"
# How long QuickStart sees that nothing is written.
remain_stable=2m
selected=()

main() {
  case "${1:-specs}" in
  specs) specs ;;
  test) quick_start ;;
  prepare) prepare ;;
  example) example ;;
  *) die "There is no way $1 to run." "Known: specs, test, prepare, example" ;;
  esac
}

specs() {
  local repetition into failed=0
  use_engine
  provide
  for ((repetition = 1; repetition <= ${REPEAT:-1}; repetition++)); do
    say "${management} on ${ENGINE}, run ${repetition} of ${REPEAT:-1}: ${#selected[@]} specs."
    # Logs of earlier runs stay.
    into="${artifacts}/${ENGINE}-${management}/$(date --utc +%Y%m%dT%H%M%SZ)"
    run_once "${into}" || failed=$((failed + 1))
  done
  ((failed == 0)) || die "${failed} of ${REPEAT:-1} runs failed." "Logs: ${artifacts}/${ENGINE}-${management}"
}

quick_start() {
  use_engine
  FOCUS="QuickStart default"
  remain_stable=30s
  if [[ "${ENGINE}" == podman ]]; then
    management=plane
    # The other engine's run, at the same time, has the other directory.
    components="${artifacts}/components-plane"
  fi
  provide
  run_once "${artifacts}/${ENGINE}-${management}/test" || die "QuickStart failed." "Logs: ${artifacts}/${ENGINE}-${management}/test"
}

# provide all that the selected specs need.
provide() {
  check
  mkdir -p "${artifacts}/${ENGINE}-${management}"
  provide_images
  provide_components
  provide_clusterctl
  make build-capcon
  go -C e2e test -c -tags e2e -o "${artifacts}/${ENGINE}-${management}/e2e.test" ./upstream
}

check() {
  local spec
  [[ "${management}" == kind || "${management}" == plane ]] ||
    die "MANAGEMENT is ${management}, which is no management cluster." "It is kind or plane."
  [[ "${REPEAT:-1}" =~ ^[1-9][0-9]*$ ]] || die "REPEAT is ${REPEAT}, which is no positive number."
  while IFS= read -r spec; do
    selected+=("${spec}")
  done < <(all_specs | grep --extended-regexp -- "${FOCUS:-.}")
  ((${#selected[@]} > 0)) || die "No spec matches FOCUS=${FOCUS}. Specs:" "$(all_specs)"
}

all_specs() { sed -n 's/.*ginkgo\.Describe("\([^"]*\)".*/\1/p' e2e/upstream/*_test.go; }

# prepare what a suite of another project needs for the flavors of a release.
prepare() {
  use_engine
  mkdir -p "${artifacts}"
  provide_images
  provide_components
  say "${artifacts} has images and components for management clusters on ${ENGINE}."
}

# example runs the suite of another project in a module of its own, outside the
# repository.
example() {
  local module into manifest
  prepare
  into="${artifacts}/${ENGINE}-example"
  rm -rf "${into}"
  mkdir "${into}"
  module="$(mktemp --directory)"
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '${module}'" EXIT
  hack/example-module.sh "${module}"
  manifest="$(compgen -G "${artifacts}/components/cert-manager/v*/cert-manager.yaml" | tail --lines 1)" ||
    manifest="" # clusterctl downloads it
  go -C "${module}" test -count=1 -timeout=0 -v . -args -ginkgo.v -ginkgo.no-color \
    -ginkgo.junit-report="${into}/junit.xml" -e2e.artifacts="${into}" -e2e.cert-manager="${manifest}" \
    -e2e.engine="${ENGINE}" 2>&1 </dev/null | tee "${into}/output.log"
}

# wants reports whether a spec is selected whose name matches.
wants() { printf '%s\n' "${selected[@]}" | grep --quiet --extended-regexp -- "$1"; }

# provide_images gives the engine what nodes, load balancers and the plane are made of.
# Archives of Pods' images are copied: a node mounts their directory, in which links to
# other places lead nowhere.
provide_images() {
  local previous
  make images-load
  if wants 'upgrade|Self-hosted'; then
    make images-load KUBERNETES_VERSION=v1.35.4
  elif [[ "${management}" == plane ]]; then
    return # which has no Pods
  fi
  rm -rf "${artifacts}/images"
  mkdir "${artifacts}/images"
  if [[ -z "${E2E_IMAGES+set}" ]]; then
    make images IMAGES=management
    (cd "${cache}/images" && copy_archives "${archives[@]/%/.tar}")
    if wants '^clusterctl upgrade$'; then
      make images IMAGES=management-previous
      (cd "${cache}/images" && copy_archives "${archives_previous[@]/%/.tar}")
    fi
  elif [[ -n "${E2E_IMAGES}" ]]; then
    compgen -G "${E2E_IMAGES}/*.tar" >/dev/null ||
      die "${E2E_IMAGES} has no image archives." "Give their directory as E2E_IMAGES, or E2E_IMAGES= to pull the images."
    copy_archives "${E2E_IMAGES}"/*.tar
  fi
  # The API server of the first upgraded control plane reaches the webhooks of the cluster,
  # which are Services, by the kube-proxy of the earlier version.
  if wants '^Self-hosted' && [[ -z "${E2E_IMAGES+set}" ]]; then
    make images IMAGES=kube-proxy-previous
    (cd "${cache}/images" && copy_archives kube-proxy-previous.tar)
  fi
  # No registry has it.
  if wants '^clusterctl upgrade$'; then
    previous="$(hack/previous.sh manager)"
    cp "${previous}/manager.tar" "${artifacts}/images/manager-previous.tar"
  fi
}

# copy_archives by hard links where it can.
copy_archives() {
  cp --link --dereference "$@" "${artifacts}/images/" 2>/dev/null || cp --dereference "$@" "${artifacts}/images/"
}

# provide_components fills the directory that e2e/upstream/config/container.yaml names, or for
# quick_start another one.
provide_components() {
  local previous
  rm -rf "${components}"
  if [[ -n "${E2E_REPOSITORY:-}" ]]; then
    [[ -d "${E2E_REPOSITORY}/cluster-api" ]] || die "${E2E_REPOSITORY} is no local repository with Cluster API's components."
    cp --recursive --dereference "${E2E_REPOSITORY}" "${components}"
  else
    RELEASE_DIR="${components}" lab/images/manifests.sh cluster-api cluster-api-previous cert-manager
  fi
  RELEASE_DIR="${components}" RELEASE_VERSION="${version}" \
    RELEASE_OVERLAY="config/${ENGINE}-socket" hack/release-manifests.sh
  if wants '^clusterctl upgrade$'; then
    previous="$(hack/previous.sh manager)"
    cp --recursive "${previous}/infrastructure-container" "${components}/"
  fi
}

# provide_clusterctl of the release before, as a release names it.
provide_clusterctl() {
  local program
  mkdir -p "${artifacts}/clusterctl"
  wants '^clusterctl upgrade$' || return 0
  program="$(tool clusterctl-previous)"
  cp "${program}" "${artifacts}/clusterctl/clusterctl-$(basename "$(dirname "${program}")" | sed 's/.*-v/v/')-$(go env GOOS)-$(go env GOARCH)"
}

run_once() {
  local into="$1" kubeconfig="" skip_cleanup=() gates=() result=0
  rm -rf "${into}"
  mkdir -p "${into}"
  sed -e "s#\.\./\.\./\.\./_artifacts/e2e/components#${components}#" -e "s#\.\./\.\./\.\./_artifacts/e2e/run#${into}#" \
    -e "s#\.\./\.\./\.\./#${root}/#" -e "s#remain-stable: \[2m#remain-stable: [${remain_stable}#" e2e/upstream/config/container.yaml >"${into}/container.yaml"
  if wants 'Runtime SDK'; then
    gates=(--feature-gates RuntimeSDK=true)
  fi
  if wants 'in-place|extension down'; then
    gates=(--feature-gates RuntimeSDK=true,InPlaceUpdates=true)
    export EXP_IN_PLACE_UPDATES=true CONTAINER_RUNTIME_EXTENSION=true
  fi
  if [[ "${management}" == plane ]]; then
    kubeconfig="${into}/plane.kubeconfig"
    # The caller asks for the result, so that nothing here ends the script.
    bin/capcon plane up --engine "${ENGINE}" "${gates[@]}" || return
    bin/capcon kubeconfig --management --engine "${ENGINE}" >"${kubeconfig}" || return
  fi
  if [[ -n "${SKIP_CLEANUP:-}" ]]; then
    skip_cleanup=(-e2e.skip-cleanup)
  fi
  (
    cd e2e/upstream
    # Nothing of this is repeated: the first result counts.
    "${artifacts}/${ENGINE}-${management}/e2e.test" -test.run="^TestE2E\$" -test.timeout=0 -ginkgo.timeout=48h -ginkgo.v -ginkgo.no-color \
      -ginkgo.focus="$(IFS='|' && echo "${selected[*]}")" -ginkgo.fail-on-empty -ginkgo.junit-report="${into}/junit.xml" \
      -e2e.config="${into}/container.yaml" -e2e.artifacts="${into}" -e2e.components="${components}" -e2e.binaries="${artifacts}/clusterctl" \
      -e2e.archives="${artifacts}/images" -e2e.engine="${ENGINE}" \
      -e2e.management="${management}" -e2e.kubeconfig="${kubeconfig}" "${skip_cleanup[@]}"
  ) 2>&1 </dev/null | tee "${into}/output.log" | { grep --line-buffered '^ *STEP:' || true; } || result=$?
  tail --lines 30 "${into}/output.log"
  if [[ "${management}" == plane && -z "${SKIP_CLEANUP:-}" ]]; then
    bin/capcon plane down --engine "${ENGINE}" || result=$?
  fi
  return "${result}"
}

main "$@"
