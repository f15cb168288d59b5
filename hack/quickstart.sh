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

# From nothing to a cluster whose Nodes are Ready: an engine, the images that it needs, the
# program capcon, and with it one control plane and one worker. Run again, it does
# what is left to do.
#
#   hack/quickstart.sh
#
# Environment:
#   REGISTRY     host:port of a registry that has the public images of nodes and
#                load balancers; without it, or where it does not answer, all images
#                are built from source
#   PLANE_IMAGE  image of the management plane, by digest. With REGISTRY it is needed
#                where the engine does not have the one that is built from source
#   ENGINE       docker, podman or auto (default)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly name="quickstart"
compiling=""

main() {
  local from=()
  say "Building bin/capcon while the engine starts. The first time, Go downloads and compiles what it needs: some minutes."
  make build-capcon &
  compiling=$!
  trap 'kill "${compiling}" 2>/dev/null || true' EXIT
  lab/engine/engine.sh start
  use_engine
  wait "${compiling}"
  trap - EXIT
  if registry_answers; then
    say "The registry ${REGISTRY} answers: images are taken from there."
    from=(--registry "${REGISTRY}" ${PLANE_IMAGE:+--plane-image "${PLANE_IMAGE}"})
  else
    make images IMAGES="node haproxy plane"
    bin/capcon images load --engine "${ENGINE}" \
      "${cache}/images/node.tar" "${cache}/images/haproxy.tar" "${cache}/images/plane.tar"
  fi
  bin/capcon up "${name}" --engine "${ENGINE}" --control-planes 1 --workers 1 "${from[@]}"
}

# An open port is enough: what the registry lacks, capcon names.
registry_answers() {
  local host port
  if [[ -z "${REGISTRY:-}" ]]; then
    say "Images that are not there yet are built from source. To take them from a registry: make quickstart REGISTRY=host:port"
    return 1
  fi
  [[ "${REGISTRY}" =~ ^[^/:]+:[0-9]+$ ]] || die "REGISTRY is ${REGISTRY}, which is not of the form host:port." "Example: make quickstart REGISTRY=127.0.0.1:5000"
  host="${REGISTRY%:*}" port="${REGISTRY##*:}"
  if ! timeout 5 bash -c "exec 3<>/dev/tcp/${host}/${port}" 2>/dev/null; then
    say "The registry ${REGISTRY} does not answer: building the images from source instead."
    return 1
  fi
}

main "$@"
