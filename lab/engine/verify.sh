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

# Proves that the engine can do what nodes need: a privileged container, an exec
# in it, a network with an explicit subnet and a static address, a restart
# policy. No image is pulled: one is imported from a static busybox. Everything
# made here is removed again.
#
#   lab/engine/verify.sh
#
# Environment:
#   ENGINE  docker or podman; engine.sh finds out which

# shellcheck source=lab/engine/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# One name for everything, so that two runs do not meet and the cleanup is whole.
readonly name="capcon-verify-$$"
readonly image="localhost/${name}:latest"
scratch="$(mktemp --directory)"
readonly scratch

main() {
  trap clean_up EXIT
  say "Verifying $(server_version "${ENGINE}")."
  import_image
  check "a privileged container starts" privileged_container
  check "a command runs in it" privileged_exec
  check "a container gets a static address" static_address
  check "a restart policy starts a container again" restart_policy
  say "The engine can run nodes."
}

clean_up() {
  engine rm --force --volumes "${name}-node" "${name}-restart" >/dev/null 2>&1 || true
  engine network rm "${name}" >/dev/null 2>&1 || true
  engine image rm "${image}" >/dev/null 2>&1 || true
  rm --recursive --force "${scratch}"
}

# check runs one proof and shows the engine's own words where it fails.
check() {
  local what="$1" proof="$2" output
  if ! output="$("${proof}" 2>&1)"; then
    die "It is not so that ${what}." "${output}" \
      "On a host that lacks capabilities see docs/restricted-hosts.md; elsewhere the engine's log names the cause."
  fi
  say "Proved: ${what}."
}

import_image() {
  mkdir -p "${scratch}/root/bin"
  cp "$(static_busybox)" "${scratch}/root/bin/busybox"
  ln --symbolic busybox "${scratch}/root/bin/sh"
  tar --directory "${scratch}/root" --create . | engine import - "${image}" >/dev/null
}

# A dynamically linked busybox would not run in an empty root file system.
static_busybox() {
  local found
  found="$(command -v busybox || true)"
  if [[ -n "${found}" ]] && ! ldd "${found}" >/dev/null 2>&1; then
    echo "${found}"
    return
  fi
  if ! command -v apt-get >/dev/null; then
    die "No static busybox is in PATH." "Install one (package busybox-static or busybox) and run this again."
  fi
  # Unpacked, not installed: needs no root and leaves the machine as it was.
  (cd "${scratch}" && apt-get download --quiet=2 busybox-static && dpkg-deb --extract busybox-static_*.deb package) >/dev/null ||
    die "busybox-static cannot be downloaded." "Run: sudo apt-get update && sudo apt-get install busybox-static"
  find "${scratch}/package" -type f -name busybox
}

# Podman would wait for ten seconds when it removes what does not end by itself.
privileged_container() {
  engine run --detach --name "${name}-node" --stop-timeout 0 --privileged "${image}" /bin/busybox sleep 600
}

privileged_exec() {
  engine exec --privileged "${name}-node" /bin/busybox true
}

# The engine chooses the subnet, since it knows the host's routes; a static
# address needs it to be explicit, so the network is made a second time.
static_address() {
  local subnet address
  engine network create "${name}"
  subnet="$(engine network inspect --format "$(subnet_format)" "${name}")"
  engine network rm "${name}"
  engine network create --subnet "${subnet}" "${name}"
  address="${subnet%.*}.77"
  engine network connect --ip "${address}" "${name}" "${name}-node"
  engine exec "${name}-node" /bin/busybox ip address | grep --fixed-strings " ${address}/"
}

subnet_format() {
  case "${ENGINE}" in
  docker) echo '{{(index .IPAM.Config 0).Subnet}}' ;;
  podman) echo '{{(index .Subnets 0).Subnet}}' ;;
  esac
}

restart_policy() {
  local waited
  engine run --detach --name "${name}-restart" --restart on-failure:1 "${image}" /bin/sh -c 'exit 1'
  for ((waited = 0; waited < 20; waited++)); do
    if [[ "$(engine inspect --format '{{.RestartCount}}' "${name}-restart")" == "1" ]]; then
      return
    fi
    sleep 0.5
  done
  return 1
}

main "$@"
