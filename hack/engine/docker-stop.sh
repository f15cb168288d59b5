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

# Stops the dockerd that docker.sh started by hand, and no other. A dockerd that
# systemd runs is stopped with systemctl.
#
#   hack/engine/docker-stop.sh
#
# Environment:
#   ENGINE_TIMEOUT  seconds to wait for the engine to end; default 60

set -o errexit -o nounset -o pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=hack/engine/lib.sh
source "${here}/lib.sh"

readonly timeout="${ENGINE_TIMEOUT:-60}"

main() {
  local pid waited
  if ! is_ours_running; then
    rm --force "${pid_file}"
    say "No dockerd that docker.sh started runs here. Nothing is stopped."
    return
  fi
  pid="$(cat "${pid_file}")"
  say "Stopping dockerd (process ${pid}) and its containers."
  kill -s TERM "${pid}" || die "The process ${pid} cannot be signalled." "Run: sudo ${here}/docker-stop.sh"
  for ((waited = 0; waited < timeout; waited++)); do
    if ! is_ours_running; then
      rm --force "${pid_file}"
      say "Stopped."
      return
    fi
    sleep 1
  done
  die "dockerd still runs after ${timeout} s." "Read ${log_file}; wait longer with ENGINE_TIMEOUT=300."
}

main "$@"
