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
# "make images-load" must have been run.
#
#   hack/registry.sh start   start it on 127.0.0.1:5000 and fill it
#   hack/registry.sh stop    remove it with what it holds

set -o errexit -o nounset -o pipefail

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly container=capcon-registry
readonly address=127.0.0.1:5000

# What is there, and what a user would call it.
readonly -A public=(
  [localhost/capcon/node:v1.36.3]=kindest/node:v1.36.3
  [localhost/capcon/haproxy:2.6]=library/haproxy:3.2
  [localhost/capcon/plane:dev]=capcon/plane:dev
)

main() {
  case "${1:-}" in
  start) start ;;
  stop) docker rm --force --volumes "${container}" >/dev/null ;;
  *) die "What to do is missing or unknown: ${1:-nothing}." "hack/registry.sh start | stop" ;;
  esac
}

start() {
  if [[ "$(docker inspect --format '{{.State.Running}}' "${container}" 2>/dev/null)" != true ]]; then
    docker rm --force --volumes "${container}" >/dev/null 2>&1 || true
    docker run --detach --name "${container}" --publish "${address}:5000" localhost/capcon/registry:3.0.0 >/dev/null
  fi
  wait_for_it
  local image
  for image in "${!public[@]}"; do
    say "Pushing ${image} as ${address}/${public[${image}]}."
    docker tag "${image}" "${address}/${public[${image}]}"
    docker push --quiet "${address}/${public[${image}]}" >/dev/null
    # The tag alone: whoever pulls must not find it there already.
    docker rmi "${address}/${public[${image}]}" >/dev/null
  done
  say "The registry ${address} has the images: make quickstart REGISTRY=${address}"
}

wait_for_it() {
  local try
  for ((try = 0; try < 30; try++)); do
    if bash -c "exec 3<>/dev/tcp/${address/://}" 2>/dev/null; then
      return
    fi
    sleep 1
  done
  docker logs --tail 20 "${container}" >&2
  die "The registry does not answer on ${address} after 30 s." "Look at its log above; is the port taken?"
}

main "$@"
