# shellcheck shell=bash
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

# What the scripts of this directory share. Sourced, not run.

# The process id and the log of a dockerd that docker.sh started by hand. The
# engine's own /var/run/docker.pid does not tell who started it.
readonly pid_file="/run/cluster-api-provider-container-dockerd.pid"
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly log_file="/var/log/cluster-api-provider-container-dockerd.log"
readonly default_endpoint="unix:///var/run/docker.sock"

say() { echo "engine: $*"; }

# die prints what is wrong and, line by line, what to do about it.
die() {
  local line
  echo "engine: $1" >&2
  for line in "${@:2}"; do
    echo "  ${line}" >&2
  done
  exit 1
}

endpoint() { echo "${DOCKER_HOST:-${default_endpoint}}"; }

# answers asks the API, not the process list: a remote or rootless engine has no
# process here. Ten seconds bound a host that does not refuse but stays silent.
answers() { server_version >/dev/null; }

server_version() {
  command -v docker >/dev/null || return 1
  DOCKER_HOST="$(endpoint)" timeout 10 docker version \
    --format '{{(index .Server.Components 0).Name}} {{.Server.Version}}, API {{.Server.APIVersion}}, {{.Server.Os}}/{{.Server.Arch}}' 2>/dev/null
}

# is_ours_running is true for a live dockerd that docker.sh started. The name is
# compared because process ids are used again.
is_ours_running() {
  local pid
  pid="$(cat "${pid_file}" 2>/dev/null)" || return 1
  [[ "$(cat "/proc/${pid}/comm" 2>/dev/null)" == "dockerd" || "$(cat "/proc/${pid}/comm" 2>/dev/null)" == "setsid" ]]
}
