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

# What the scripts of this directory share: the engines there are, where they are
# looked for, and whether one answers. Sourced, not run.

# shellcheck disable=SC2034 # read by say and die
readonly speaker="engine"
# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

readonly here="${root}/lab/engine"

# In the order in which they are preferred.
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly engines=(docker podman)

# default_endpoint is where the engine $1 listens if it is this machine's own.
default_endpoint() {
  case "$1" in
  docker) echo "unix:///var/run/docker.sock" ;;
  podman)
    if [[ "${EUID}" -eq 0 ]]; then
      echo "unix:///run/podman/podman.sock"
    else
      echo "unix://${XDG_RUNTIME_DIR:-/run/user/${EUID}}/podman/podman.sock"
    fi
    ;;
  esac
}

# endpoint is what the engine's command uses: what variables name, or what its user
# has made the default. docs/how-to/engine.md has the rules, which capcon follows too.
endpoint() {
  local found=""
  case "$1" in
  docker) found="$(docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null || true)" ;;
  podman)
    if [[ -n "${CONTAINER_CONNECTION:-}" ]]; then
      found="the connection ${CONTAINER_CONNECTION}"
    else
      found="${CONTAINER_HOST:-$(podman system connection list --format '{{if .Default}}{{.URI}}{{end}}' 2>/dev/null | grep --max-count 1 . || true)}"
    fi
    ;;
  esac
  echo "${found:-$(default_endpoint "$1")}"
}

# answers asks the API, not the process list: a remote or rootless engine has no
# process here. Ten seconds bound a host that does not refuse but stays silent.
answers() { server_version "$1" >/dev/null; }

server_version() {
  command -v "$1" >/dev/null || return 1
  case "$1" in
  docker)
    timeout 10 docker version \
      --format '{{(index .Server.Components 0).Name}} {{.Server.Version}}, API {{.Server.APIVersion}}, {{.Server.Os}}/{{.Server.Arch}}' 2>/dev/null
    ;;
  podman)
    timeout 10 podman --remote version --format 'Podman {{.Server.Version}}, {{.Server.OsArch}}' 2>/dev/null
    ;;
  esac
}
