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

# Runs the commands of the tutorials, in the order in which a reader meets them. A block of a
# page that begins with ```sh is run as it stands; its first command that fails ends the run.
#
#   hack/test-tutorials.sh
#
# Environment:
#   ENGINE  docker, podman or auto (default)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly cluster=tutorial
readonly tutorials=(image database web helm)

main() {
  local page
  use_engine
  make images-load build-capcon
  programs="$(mktemp --directory)"
  readonly programs
  trap 'rm -rf "${programs}"; rm -f last-answer' EXIT
  export KUBECONFIG="${programs}/kubeconfig" # not the one of its user
  provide "${programs}"
  bin/capcon down "${cluster}" --engine "${ENGINE}"
  export PATH="${programs}:${PATH}"
  for page in "${tutorials[@]}"; do
    # One shell for all, as a reader has it: variables of a page hold in the next one.
    echo "echo; echo '== docs/tutorials/${page}.md'"
    commands "docs/tutorials/${page}.md"
  done >"${programs}/commands"
  bash -o errexit -o nounset -o pipefail -o xtrace "${programs}/commands" ||
    die "A command of a tutorial failed; it is the last one above." "The cluster stays: bin/capcon status ${cluster}"
  say "All commands of the tutorials ran in ${SECONDS} s."
}

# commands of a page.
commands() { sed -n '/^```sh$/,/^```$/ { /^```/!p }' "$1"; }

# provide what readers have: capcon, the engine's command by the name in the pages, kubectl
# and Helm.
provide() {
  local directory="$1"
  ln -s "$(tool helm)" "${directory}/helm"
  ln -s "$(image_programs localhost/capcon/node:v1.36.3 /usr/bin/kubectl)/kubectl" "${directory}/kubectl"
  printf '#!/bin/sh\nexec %q "$@" --engine %q\n' "${root}/bin/capcon" "${ENGINE}" >"${directory}/capcon"
  printf '#!/bin/sh\nexec %s "$@"\n' "$(engine_command | sed "s,^docker,$(command -v docker || true),")" >"${directory}/docker"
  chmod +x "${directory}/capcon" "${directory}/docker"
}

main "$@"
