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

# What the scripts of this directory share, first of all that they end where a command
# fails, and run in the root of the repository. Sourced, not run.

set -o errexit -o nounset -o pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly root
cd "${root}"

# Shared by all clones of one user, so that a second clone builds nothing twice.
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly cache="${XDG_CACHE_HOME:-${HOME}/.cache}/cluster-api-provider-container"

# faults are the tests that interrupt each call of the controllers, one after the other:
# hack/test-faults.sh runs them, and other suites leave them out.
# shellcheck disable=SC2034 # of the scripts that source this file
readonly faults='^Test[[:alnum:]]*Faults$|^TestLosses$|^TestRecovery$'

# speaker is who a script's messages are from; default: the script.
say() { echo "${speaker:-${0##*/}}: $*"; }

# die prints what is wrong and, line by line, what to do about it.
die() {
  local line
  echo "${speaker:-${0##*/}}: $1" >&2
  for line in "${@:2}"; do
    echo "  ${line}" >&2
  done
  exit 1
}

# use_engine settles which engine ENGINE means, for this script and all it runs:
# docker or podman, and never auto.
use_engine() {
  ENGINE="$("${root}/lab/engine/engine.sh" name)"
  export ENGINE
}

# engine_command prints the command of that engine with its first arguments. Podman's
# asks the service, as capcon does, which need not be this machine's.
engine_command() {
  case "${ENGINE}" in
  podman) echo "podman --remote" ;;
  *) echo "${ENGINE}" ;;
  esac
}

# engine runs that command.
engine() {
  local command
  read -ra command < <(engine_command)
  "${command[@]}" "$@"
}

# tool prints the path of a pinned tool and builds it first where it is missing.
tool() { "${root}/hack/tool.sh" "$1"; }

# source_files lists what git would have in the next commit if everything were
# added: tracked and untracked files, without the ignored and the deleted ones.
source_files() {
  local file
  git -C "${root}" ls-files --cached --others --exclude-standard -- "$@" | sort --unique |
    while IFS= read -r file; do
      if [[ -e "${root}/${file}" || -L "${root}/${file}" ]]; then
        echo "${file}"
      fi
    done
}

# The race detector is the only thing here that needs cgo.
has_c_compiler() { command -v "$(go env CC)" >/dev/null; }

# image_programs prints a directory with what an image of the engine has in
# /usr/local/bin, or at another path, copied out of it once for each image, by the
# first caller.
image_programs() {
  local image="$1" path="${2:-/usr/local/bin/.}" id directory scratch container
  id="$(engine image inspect --format '{{.Id}}' "${image}" 2>/dev/null)" ||
    die "The engine does not have ${image}." "Run: make images-load ENGINE=${ENGINE}"
  directory="${cache}/programs/${id#sha256:}${2:+-$(basename "$2")}"
  if [[ ! -d "${directory}" ]]; then
    mkdir -p "${cache}/programs"
    scratch="$(mktemp --directory "${directory}.XXXXXX")"
    container="$(engine create "${image}")"
    engine cp "${container}:${path}" "${scratch}" >/dev/null
    engine rm "${container}" >/dev/null
    mv --no-target-directory "${scratch}" "${directory}" 2>/dev/null || rm -rf "${scratch}"
  fi
  echo "${directory}"
}

# plane_programs prints a directory with etcd, kube-apiserver and kube-controller-manager that
# needs no engine: KUBEBUILDER_ASSETS, or links to what the images are made of.
plane_programs() {
  local directory="${KUBEBUILDER_ASSETS:-${cache}/programs/plane}" program found
  for program in program-etcd/etcd program-kubernetes/kube-apiserver program-kubernetes/kube-controller-manager; do
    if [[ -z "${KUBEBUILDER_ASSETS:-}" ]]; then
      mkdir -p "${directory}"
      found="$(compgen -G "${cache}/images/artifacts/${program%/*}/*/${program#*/}" | tail -n 1 || true)"
      [[ -z "${found}" ]] || ln --symbolic --force "${found}" "${directory}/"
    fi
    [[ -x "${directory}/${program#*/}" ]] ||
      die "${program#*/} is missing in ${directory}." "Run: make images, or set KUBEBUILDER_ASSETS to a directory that has it."
  done
  echo "${directory}"
}

# commit prints the abbreviated commit of the checkout, with a plus sign where files have
# changed since.
commit() {
  local id
  id="$(git -C "${root}" rev-parse --short=9 HEAD)"
  [[ -z "$(git -C "${root}" status --porcelain)" ]] || id+=+
  echo "${id}"
}
