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

# Runs Kubernetes' conformance tests on a cluster of one control plane and two workers,
# on which only known tests may fail. The tests and their images are built from
# Kubernetes' module. They run in parts, one for each SIG and one for the
# serial tests; a part that has ended is not run again on the same cluster.
#
#   hack/e2e-conformance.sh
#
# Environment:
#   ENGINE        docker, podman or auto (default)
#   SUITE         storage: the tests of storage drivers instead, with the default
#                 StorageClass; load-balancer: those of Services of type LoadBalancer;
#                 dual-stack: those of both IP families, on a cluster with both. Their
#                 results are printed only
#   SHORT         yes: only some tests of the Pod network, DNS, volumes and Services
#   PROCS         tests that run at the same time; default 4
#   SKIP_CLEANUP  not empty: the cluster stays, for another run

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly cluster=conformance
readonly image_archives="${cache}/images"
# Each test is of one of these; the builder's image has the tests of all.
readonly sigs=(api-machinery apps architecture auth cli instrumentation network node scheduling storage)
# Failures whose cause is in docs/results.md.
readonly known=(
  'ReplicationController should test the lifecycle of a ReplicationController'
  'Services should serve endpoints on same port and different protocols'
  'ConfigMap should be consumable as environment variable names'
  'ConfigMap should be consumable via the environment'
  'Secrets should be consumable as environment variable names'
  'Secrets should be consumable via the environment'
  'ImageVolume should succeed with pod and pull policy of Always'
)
readonly short='Networking Granular Checks: Pods should function for intra-pod communication: http|DNS should provide DNS for services |EmptyDir volumes should support \(root,0644,default\)|Services should serve multiport endpoints from pods'

main() {
  local part passed=true
  use_engine
  into="${root}/_artifacts/conformance/${ENGINE}"
  mkdir -p "${into}"
  make images-load build-capcon
  go -C lab/images/builder run . -load "$(engine_command)" conformance
  go -C lab/images/builder run . conformance-tests
  programs="$(image_programs "$(reference conformance)")"
  create_cluster
  if [[ "${SUITE:-}" == storage ]]; then
    # Features are what a driver has beyond the common. Of the others, the driver's
    # definition says what it has.
    run storage-driver "${PROCS:-4}" 'External Storage' '\[Feature:|\[Disruptive\]|\[Serial\]' \
      -storage.testdriver="${root}/hack/e2e-storage.yaml" || passed=false
  elif [[ "${SUITE:-}" == load-balancer ]]; then
    # Not supported: Services without node ports, source ranges of Pods (ADR 0012).
    run load-balancer "${PROCS:-4}" '\[sig-network\] LoadBalancers' 'without NodePort|source ranges|\[Disruptive\]' || passed=false
  elif [[ "${SUITE:-}" == dual-stack ]]; then
    run dual-stack "${PROCS:-4}" '\[Feature:IPv6DualStack\]' '\[Disruptive\]|\[Feature:SCTP' || passed=false
  elif [[ -n "${SHORT:-}" ]]; then
    run short "${PROCS:-4}" "${short}" '\[Serial\]' || passed=false
  else
    for part in "${sigs[@]}"; do
      run "${part}" "${PROCS:-4}" "\[sig-${part}\].*\[Conformance\]" '\[Serial\]' || true
    done
    run serial 1 '\[Serial\].*\[Conformance\]' '' || true
    report "${sigs[@]}" serial || passed=false
  fi
  "${passed}" || die "Tests failed." "Logs: ${into}; the cluster stays: bin/capcon down ${cluster}"
  if [[ -z "${SKIP_CLEANUP:-}" ]]; then
    bin/capcon down "${cluster}" --engine "${ENGINE}"
  fi
}

# report the totals of parts, and the failures that are not known, which it returns an error for.
report() {
  local results
  results="$(cd "${into}" && sed -n 's/.*<testcase name="\[It\] \([^"]*\)".* status="\([a-z]*\)".*/\2 \1/p' "${@/%/.xml}" |
    grep --extended-regexp '^(passed|failed|panicked|timedout) ')" || return
  say "$(grep --count '^passed ' <<<"${results}") of $(wc --lines <<<"${results}") tests passed. Failures that are not known:"
  ! grep --invert-match '^passed ' <<<"${results}" | grep --invert-match --fixed-strings --file=<(printf '%s\n' "${known[@]}")
}

reference() { published "$1" reference; }

published() { sed -n "s/.*\"$2\": \"\(.*\)\".*/\1/p" "${image_archives}/$1.json"; }

# create_cluster with the tests' images in its nodes. Parts that ran on another cluster
# run again.
create_cluster() {
  local node container archive families=()
  if [[ "${SUITE:-}" == dual-stack ]]; then
    families=(--ip-family dual)
  fi
  kubeconfig="${into}/kubeconfig"
  export KUBECONFIG="${kubeconfig}.user"
  bin/capcon up "${cluster}" --workers 2 "${families[@]}" --engine "${ENGINE}"
  bin/capcon kubeconfig "${cluster}" --engine "${ENGINE}" >"${kubeconfig}.new"
  if ! cmp --silent "${kubeconfig}.new" "${kubeconfig}"; then
    rm -f "${into}"/*.xml
    mv "${kubeconfig}.new" "${kubeconfig}"
  fi
  for container in $(kubectl get nodes -o 'jsonpath={.items[*].spec.providerID}'); do
    node="${container#container:///}"
    for archive in "${image_archives}"/*.json; do
      archive="$(basename "${archive}" .json)"
      [[ "$(reference "${archive}")" == registry.k8s.io/e2e-test-images/* ]] || continue
      import "${node}" "${archive}"
    done
  done
}

import() {
  local node="$1" archive="$2" id images=(ctr --namespace k8s.io images)
  id="$(published "${archive}" id)"
  [[ -z "$(engine exec "${node}" "${images[@]}" list --quiet "name==$(reference "${archive}"),labels.id==${id#sha256:}")" ]] || return 0
  say "Importing ${archive} into ${node}."
  # Pinned: the kubelet does not remove it, since it could not be pulled.
  engine exec --interactive "${node}" "${images[@]}" import --label io.cri-containerd.pinned=pinned --label "id=${id#sha256:}" - \
    <"${image_archives}/${archive}.tar" >"${into}/import.log" 2>&1 ||
    die "${archive} cannot be imported into ${node}." "Read ${into}/import.log"
}

kubectl() { "${programs}/kubectl" --kubeconfig "${kubeconfig}" "$@"; }

# run a part unless it has a report, with more arguments for the tests.
run() {
  local part="$1" procs="$2" focus="$3" skip="$4" began="${SECONDS}" result=0
  shift 4
  if [[ -e "${into}/${part}.xml" ]]; then
    say "${part} has ended on this cluster before."
    return
  fi
  say "Running ${part}, ${procs} at the same time; log: ${into}/${part}.log"
  "${programs}/ginkgo" --procs="${procs}" --focus="${focus}" --skip="${skip}" --no-color --timeout=6h \
    --output-dir="${into}" --junit-report="${part}.unfinished" "${programs}/e2e.test" -- \
    --kubeconfig="${kubeconfig}" --kubectl-path="${programs}/kubectl" --provider=local --disable-log-dump "$@" >"${into}/${part}.log" 2>&1 </dev/null || result=$?
  mv "${into}/${part}.unfinished" "${into}/${part}.xml" ||
    die "${part} ended without a report." "Read ${into}/${part}.log"
  say "${part} took $((SECONDS - began)) s: $(sed -n 's/^Ran \([0-9]* of .*\)/\1/p; s/.* -- \([0-9]* Passed.*\)/\1/p' "${into}/${part}.log" | tail --lines 2 | paste --serial --delimiters ' ')"
  return "${result}"
}

main "$@"
