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

# Does something with the engine that ENGINE names.
#
#   lab/engine/engine.sh name     print which it is, docker or podman
#   lab/engine/engine.sh command  print its command with its first arguments
#   lab/engine/engine.sh start    make sure that it answers
#   lab/engine/engine.sh stop     stop it, if "start" started it by hand
#   lab/engine/engine.sh verify   prove that it can run nodes
#
# Environment:
#   ENGINE  docker, podman or auto (default): the first that answers, Docker before
#           Podman; only one of them where a variable names its endpoint. Where none
#           answers, "start" starts the first that is installed, or installs Docker,
#           and "stop" looks for both.

# shellcheck source=lab/engine/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  local name
  case "${ENGINE:-auto}" in
  auto | docker | podman) ;;
  *) die "ENGINE is ${ENGINE}, which is no engine." "It is one of auto, ${engines[*]}." ;;
  esac
  case "${1:-}" in
  name) answering || die_unanswered ;;
  command)
    ENGINE="$(answering)" || die_unanswered
    engine_command
    ;;
  start)
    name="$(answering || chosen)"
    exec "${here}/${name}.sh"
    ;;
  stop)
    for name in $(candidates); do
      "${here}/${name}-stop.sh"
    done
    ;;
  verify)
    ENGINE="$(answering)" || die_unanswered
    export ENGINE
    exec "${here}/verify.sh"
    ;;
  *) die "What to do is missing or unknown: ${1:-nothing}." "lab/engine/engine.sh name | command | start | stop | verify" ;;
  esac
}

# candidates are those that ENGINE leaves open. What a variable names is not
# replaced by the other.
candidates() {
  local for_docker="${DOCKER_HOST:-}${DOCKER_CONTEXT:-}" for_podman="${CONTAINER_HOST:-}${CONTAINER_CONNECTION:-}"
  if [[ "${ENGINE:-auto}" != auto ]]; then
    echo "${ENGINE}"
  elif [[ -n "${for_docker}" && -z "${for_podman}" ]]; then
    echo docker
  elif [[ -n "${for_podman}" && -z "${for_docker}" ]]; then
    echo podman
  else
    printf '%s\n' "${engines[@]}"
  fi
}

# first prints the first candidate for which a command succeeds.
first() {
  local name
  for name in $(candidates); do
    if "$@" "${name}" >/dev/null; then
      echo "${name}"
      return
    fi
  done
  return 1
}

answering() { first answers; }

die_unanswered() {
  local name places=()
  for name in $(candidates); do
    places+=("${name} does not answer at $(endpoint "${name}").")
  done
  die "No container engine answers." "${places[@]}" "Run: make engine${ENGINE:+ ENGINE=${ENGINE}}"
}

# chosen is the one to start where none answers.
chosen() { first command -v || candidates | head --lines 1; }

main "$@"
