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

# Runs capcon on a virtual machine of Debian 13 with systemd, cgroup v2 and AppArmor,
# that QEMU emulates, in tiers:
#   1  capcon doctor, which each run begins with, and the conformance suite of the engine
#   2  a cluster with one node, and capcon on this host, which reaches the machine's rootful
#      engine through SSH
#   3  a worker, a Pod whose memory limit kills it, a restart of the engine, a reboot of
#      the machine, and the deletion with nothing left
#
#   lab/hosts/e2e.sh
#
# Environment:
#   HOST    debian13, the only one
#   ENGINE  docker (default) or podman
#   MODE    rootful (default), rootless, or userns: Docker's --userns-remap, or Podman's
#           userns = "auto"
#   TIER    1, 2 or 3 (default): the last tier that is run
#   FROM    the first one; default 1
#   ARCH    architecture of the machine: amd64 (default) or arm64
#   MEMORY  of the machine, in MiB; default 6144

# shellcheck disable=SC2034 # read by say and die
readonly speaker="e2e-host"
# shellcheck source=lab/hosts/machine.sh
source "$(dirname "${BASH_SOURCE[0]}")/machine.sh"
# shellcheck source=lab/hosts/enginedisk.sh
source "$(dirname "${BASH_SOURCE[0]}")/enginedisk.sh"

readonly engine_name="${ENGINE:-docker}" mode="${MODE:-rootful}" tier="${TIER:-3}" first="${FROM:-1}"
readonly images=(node haproxy plane registry)
readonly cluster="host"
# Emulation is twenty times slower than the processor.
readonly timeout="60m"

work=""

main() {
  check_input
  trap finish EXIT
  require_tools
  # Not in /tmp, which may be memory: the payload and the changes of a run are gigabytes.
  work="$(mktemp --directory "${vm_cache}/run.XXXXXX")"
  step "making the system" make_system
  step "collecting programs and images" make_payload
  step "preparing the disk with the engine" make_engine_disk
  layer "${engine_disk}" "${work}/run.qcow2"
  step "booting" boot "${work}/run.qcow2" "${work}/payload.img"
  step "waiting for the engine" wait_for_engine
  step "capcon doctor" on "capcon doctor --engine ${engine_name}"
  ((first > 1)) || step "conformance suite" conformance
  ((tier < 2)) || second_tier
  ((tier < 3)) || third_tier
  say "PASS: ${engine_name} ${mode}, tiers ${first} to ${tier}, in ${SECONDS} s: $(remote "${account}" "${engine_name} --version")"
}

check_input() {
  [[ "${HOST:-debian13}" == debian13 ]] || die "HOST is ${HOST}, which is unknown." "The only host is debian13."
  case "${engine_name} ${mode}" in
  "docker rootful" | "podman rootful" | "docker userns" | "podman userns") account=root ;;
  "docker rootless" | "podman rootless") account="${user}" ;;
  *) die "ENGINE is ${engine_name} and MODE is ${mode}." "ENGINE is docker or podman; MODE is rootful, rootless or userns." ;;
  esac
  [[ "${tier}" == [123] ]] || die "TIER is ${tier}." "It is 1, 2 or 3."
  [[ "${first}" == [12] ]] && ((first <= tier)) || die "FROM is ${first}, and TIER ${tier}." "FROM is 1 or 2, and not above TIER: tier 3 needs the cluster of tier 2."
}

account=""

# finish keeps a support bundle of a run that failed, and ends the machine.
finish() {
  local status="$?" into="_artifacts/e2e-host"
  if ((status != 0)) && [[ -n "${vm}" ]]; then
    mkdir -p "${into}"
    on "cd /tmp && timeout 600 capcon support-bundle ${cluster} --engine ${engine_name} --file bundle.tar.gz >&2 && cat bundle.tar.gz" >"${into}/${engine_name}-${mode}.tar.gz" || true
    say "The support bundle of the failed run is ${into}/${engine_name}-${mode}.tar.gz."
  fi
  end_machine
  rm -rf "${work}"
}

step() {
  local what="$1" start="${SECONDS}"
  shift
  echo "e2e-host: ${SECONDS} s: ${what}" >&2
  "$@"
  echo "e2e-host: ${SECONDS} s: done: ${what}, $((SECONDS - start)) s" >&2
}

# on runs a command on the machine as the user of the engine.
on() { remote "${account}" "PATH=/payload/bin:\$PATH; export KUBECONFIG=\$HOME/e2e.kubeconfig; $1"; }

make_payload() {
  local payload="${work}/payload" images_of="${cache}/images" name
  [[ "${arch}" == "$(go env GOARCH)" ]] || images_of+="-${arch}"
  mkdir -p "${payload}/bin" "${payload}/images"
  build_capcon "${payload}/bin/capcon"
  mkdir "${payload}/hack" "${payload}/lab"
  cp hack/lib.sh "${payload}/hack"
  cp -r lab/engine "${payload}/lab"
  CGO_ENABLED=0 GOARCH="${arch}" go test -c -tags=remote -o "${payload}/bin/conformance.test" "./internal/engine/${engine_name}"
  CGO_ENABLED=0 GOARCH="${arch}" go build -o "${payload}/bin/tool" ./internal/engine/enginetest/tool
  for name in "${images[@]}" busybox; do
    cp "${images_of}/${name}.tar" "${payload}/images" || die "The image ${name} is not built." "Run: make images ARCH=${arch}"
  done
  # Half as much again for the file system.
  truncate --size="$(($(du --summarize --block-size=1M "${payload}" | cut --fields=1) * 3 / 2 + 64))M" "${work}/payload.img"
  mkfs.ext4 -q -d "${payload}" "${work}/payload.img"
}

# build_capcon builds it with a ClusterClass for slow machines.
build_capcon() {
  local class=templates/clusterclass-container.yaml
  sed --file lab/hosts/slow.sed "${class}" >"${work}/class.yaml"
  echo "{\"Replace\": {\"${PWD}/${class}\": \"${work}/class.yaml\"}}" >"${work}/overlay.json"
  CGO_ENABLED=0 GOARCH="${arch}" go build -overlay "${work}/overlay.json" -o "$1" ./cmd/capcon
}

# conformance runs one case at a time, and not that of eight callers that create a
# network immediately: a creation may take 20 s, and takes several in emulation. It prints
# each case that begins.
conformance() {
  local arguments="-test.v -test.timeout 60m -test.parallel 1 -test.run ^TestIntegrationConformance -test.skip /networks/created_at_once"
  on "set -o pipefail; cd /tmp; ENGINETEST_TOOL=/payload/bin/tool conformance.test ${arguments} | grep --line-buffered --invert-match --extended-regexp '^=== (RUN|PAUSE)'"
}

second_tier() {
  step "capcon up" on "capcon up ${cluster} --engine ${engine_name} --workers 0 --timeout ${timeout}"
  kubectl "wait --for=condition=Ready node --all --timeout=${timeout}"
  [[ "${mode}" != userns ]] || load_balancer_is_remapped
  # The commands of the engine's own client reach only a rootful one through SSH.
  [[ "${account}" != root || "${arch}" != "$(go env GOARCH)" ]] || step "capcon on this host, through SSH" through_ssh
}

load_balancer_is_remapped() {
  local first_id
  first_id="$(on "awk '{ print \$2 }' /proc/\$(${engine_name} inspect --format '{{ .State.Pid }}' \$(${engine_name} ps --quiet --filter name=^${cluster}-lb))/uid_map")"
  say "Root of the load balancer is user ${first_id} of the machine."
  ((first_id > 0)) || die "The load balancer is not in a user namespace of its own."
}

# through_ssh uses the machine's engine from this host: nothing but the machine's SSH server
# is reachable from here.
through_ssh() {
  local directory="${work}/client"
  local ssh_url="ssh://root@127.0.0.1:${port}"
  mkdir -p "${directory}/.ssh"
  ssh-keyscan -p "${port}" 127.0.0.1 >"${directory}/.ssh/known_hosts" 2>/dev/null
  printf '#!/bin/sh\nexec %s -i %s -o UserKnownHostsFile=%s/.ssh/known_hosts "$@"\n' "$(command -v ssh)" "${key}" "${directory}" >"${directory}/ssh"
  chmod +x "${directory}/ssh"
  local client=(env "HOME=${directory}" "PATH=${directory}:${PATH}" "DOCKER_HOST=${ssh_url}" "CONTAINER_HOST=${ssh_url}/run/podman/podman.sock"
    "CONTAINER_SSHKEY=${key}" "KUBECONFIG=${directory}/kubeconfig" "${work}/payload/bin/capcon")
  "${client[@]}" doctor --engine "${engine_name}"
  "${client[@]}" status "${cluster}" --engine "${engine_name}"
  "${client[@]}" logs "${cluster}" --engine "${engine_name}" >"${directory}/logs"
  [[ -s "${directory}/logs" ]] || die "capcon logs printed nothing through SSH."
  "${client[@]}" up "${cluster}" --engine "${engine_name}" --timeout "${timeout}"
}

kubectl() {
  on "${engine_name} exec \$(${engine_name} ps --quiet --filter name=^${cluster}-control-plane) kubectl --kubeconfig /etc/kubernetes/admin.conf $1"
}

third_tier() {
  step "a worker" on "capcon up ${cluster} --engine ${engine_name} --workers 1 --timeout ${timeout}"
  step "a Pod that exceeds its limit" exceed_limit
  step "restart of the engine" restart_engine
  step "reboot of the machine" reboot
  step "capcon down" on "capcon down ${cluster} --engine ${engine_name} --timeout ${timeout}"
  nothing_left
}

exceed_limit() {
  local limits='{"spec":{"containers":[{"name":"hog","image":"registry.k8s.io/e2e-test-images/busybox:1.37.0-1","command":["sh","-c","cat /sys/fs/cgroup/memory.max; tail /dev/zero"],"resources":{"limits":{"memory":"64Mi"}}}]}}'
  on "capcon load ${cluster} --engine ${engine_name} /payload/images/busybox.tar"
  kubectl "run hog --restart=Never --image=unused --overrides='${limits}'"
  kubectl "wait pod/hog --for=jsonpath='{.status.phase}'=Failed --timeout=${timeout}"
  [[ "$(kubectl 'logs hog')" == *67108864* ]] || die "The Pod does not see its memory limit."
  [[ "$(kubectl "get pod hog -o jsonpath='{.status.containerStatuses[0].state.terminated.reason}'")" == OOMKilled ]] ||
    die "The Pod was not OOMKilled."
}

restart_engine() {
  case "${account} ${engine_name}" in
  "root docker") remote root 'systemctl restart docker' ;;
  "root podman") remote root 'systemctl restart podman.socket podman.service' ;;
  *) remote "${user}" "systemctl --user restart ${engine_name}.service" ;;
  esac
  all_ready
}

reboot() {
  reboot_machine
  all_ready
}

# all_ready: "capcon up" with an unchanged cluster waits until everything is.
all_ready() {
  wait_for_engine
  on "capcon up ${cluster} --engine ${engine_name} --timeout ${timeout}"
  kubectl "wait --for=condition=Ready node --all --timeout=${timeout}"
}

nothing_left() {
  local left
  left="$(on "${engine_name} ps --all --quiet; ${engine_name} volume ls --quiet; ${engine_name} network ls --quiet --filter name=capcon")"
  [[ -z "${left}" ]] || die "This is left on the engine: ${left}"
}

main
