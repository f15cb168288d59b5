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

# Runs a registry on this machine that has our images under the names the public
# ones have, so that what a user with a registry sees can be tried without one.
# "make images-load" must have been run; the registry's own image is built if it is missing.
#
#   lab/engine/registry.sh start   start it on 127.0.0.1:5000 and fill it
#   lab/engine/registry.sh stop    remove it with what it holds
#
# Environment:
#   ENGINE  docker, podman or auto (default)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

readonly container=capcon-test-registry
readonly own=localhost/capcon/registry:3.0.0
readonly address=127.0.0.1:5000

# What is there, and its name in the registry.
readonly -A public=(
  [localhost/capcon/node:v1.36.3]=kindest/node:v1.36.3
  [localhost/capcon/haproxy:2.6]=library/haproxy:3.2
  [localhost/capcon/plane:dev]=capcon/plane:dev
)

main() {
  use_engine
  case "${1:-}" in
  start) start ;;
  stop) engine rm --force --volumes "${container}" >/dev/null ;;
  *) die "What to do is missing or unknown: ${1:-nothing}." "lab/engine/registry.sh start | stop" ;;
  esac
}

start() {
  if [[ "$(engine inspect --format '{{.State.Running}}' "${container}" 2>/dev/null)" != true ]]; then
    engine rm --force --volumes "${container}" >/dev/null 2>&1 || true
    engine image inspect "${own}" >/dev/null 2>&1 || make images-load IMAGES=registry
    engine run --detach --name "${container}" --publish "${address}:5000" "${own}" >/dev/null
  fi
  wait_for_it
  local image digest plane
  for image in "${!public[@]}"; do
    say "Pushing ${image} as ${address}/${public[${image}]}."
    engine tag "${image}" "${address}/${public[${image}]}"
    digest="$(push "${address}/${public[${image}]}")"
    [[ "${digest}" == sha256:* ]] || die "${ENGINE} printed no digest for ${image}." "Try again: lab/engine/registry.sh start"
    [[ "${image}" != localhost/capcon/plane:* ]] || plane="${address}/capcon/plane@${digest}"
    # The tag alone: a pull must not find it there already.
    engine rmi "${address}/${public[${image}]}" >/dev/null
  done
  say "The registry ${address} has the images:"
  say "  make quickstart REGISTRY=${address} PLANE_IMAGE=${plane}"
}

# push prints the digest that the image has in the registry.
push() {
  local file
  case "${ENGINE}" in
  docker) engine push "$1" | sed --quiet 's/.* digest: \(sha256:[0-9a-f]*\) .*/\1/p' ;;
  podman)
    file="$(mktemp)"
    # Docker needs no TLS for a registry on 127.0.0.1, Podman has this option.
    engine push --quiet --tls-verify=false --digestfile "${file}" "$1" >/dev/null
    cat "${file}"
    rm "${file}"
    ;;
  esac
}

wait_for_it() {
  local try
  for ((try = 0; try < 30; try++)); do
    if bash -c "exec 3<>/dev/tcp/${address/://}" 2>/dev/null; then
      return
    fi
    sleep 1
  done
  engine logs --tail 20 "${container}" >&2
  die "The registry does not answer on ${address} after 30 s." "Look at its log above; is the port taken?"
}

main "$@"
