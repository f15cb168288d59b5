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

# Makes sure that a Docker engine answers.
#
# An engine that answers already is only told about, never changed. Where none
# does, root on Debian or Ubuntu gets one: package, configuration where there is
# none, start. Safe to run again at any time.
#
#   hack/engine/docker.sh
#
# Environment:
#   DOCKER_HOST     the engine to look for; default unix:///var/run/docker.sock
#   ENGINE_TIMEOUT  seconds to wait for a started engine to answer; default 60

set -o errexit -o nounset -o pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=hack/engine/lib.sh
source "${here}/lib.sh"

readonly timeout="${ENGINE_TIMEOUT:-60}"
readonly config="/etc/docker/daemon.json"
readonly wrapper="/usr/local/libexec/cluster-api-provider-container/runtime-wrapper"

# Each node runs systemd, kubelet and containerd, of which each holds inotify
# instances; the kernel's 128 per user are used up by a few nodes. The figures
# are above what kind recommends for several nodes (512 and 524288), as one user
# runs several clusters here.
readonly inotify_instances=1024
readonly inotify_watches=524288

main() {
  if answers; then
    say "An engine answers at $(endpoint): $(server_version). Nothing is changed."
    advise_inotify
    return
  fi
  say "No engine answers at $(endpoint)."

  require_local_endpoint
  require_root
  if ! command -v dockerd >/dev/null; then
    install_engine
  fi
  if ! answers; then
    start_engine
  fi
  wait_until_it_answers
  raise_inotify
  report_forwarding
  say "The engine is ready: $(server_version)."
}

# A remote engine cannot be installed from here.
require_local_endpoint() {
  if [[ "$(endpoint)" != "${default_endpoint}" && "$(endpoint)" != "unix:///run/docker.sock" ]]; then
    die "DOCKER_HOST names $(endpoint), which is not this machine's default socket." \
      "Start that engine, or unset DOCKER_HOST to use a local one."
  fi
}

require_root() {
  if [[ "${EUID}" -eq 0 ]]; then
    return
  fi
  if command -v dockerd >/dev/null || is_debian; then
    die "Installing or starting an engine needs root." \
      "Run: sudo ${here}/docker.sh" \
      "If an engine runs but you may not use its socket: sudo usermod --append --groups docker ${USER:-you}, then log in again."
  fi
  die_not_debian
}

is_debian() {
  local ids
  ids=" $(. /etc/os-release 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}") "
  [[ "${ids}" == *" debian "* || "${ids}" == *" ubuntu "* ]]
}

die_not_debian() {
  die "This machine is neither Debian nor Ubuntu: the engine is not installed for you." \
    "Follow https://docs.docker.com/engine/install/, start the engine and run this again."
}

# The configuration is written before the package: where the package starts the
# engine itself, its first start has what the host needs.
install_engine() {
  is_debian || die_not_debian
  if is_restricted; then
    configure_restricted
  fi
  say "Installing the package docker.io, because no dockerd was found."
  if [[ -z "$(apt-cache policy docker.io 2>/dev/null | awk '/Candidate:/ && $2 != "(none)" {print $2}')" ]]; then
    say "Updating the package lists, because docker.io is not in them."
    apt-get update --quiet=2 || die "The package lists cannot be updated." "Check the network and /etc/apt, and run this again."
  fi
  apt_install || {
    say "Updating the package lists and trying again, because the installation did not succeed."
    apt-get update --quiet=2 && apt_install
  } || die "docker.io cannot be installed." "Read the messages above; or follow https://docs.docker.com/engine/install/."
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends docker.io >/dev/null
}

# is_restricted tells by the kernel's bounding set (bit 24) whether
# CAP_SYS_RESOURCE is absent, the one that restricted hosts take away and that
# Docker asks for in every privileged container.
is_restricted() {
  local bounding
  bounding="$(awk '/^CapBnd:/ {print $2}' /proc/self/status)"
  ((((16#${bounding} >> 24) & 1) == 0))
}

configure_restricted() {
  say "This host lacks CAP_SYS_RESOURCE (limit of open files: $(ulimit -Hn)): runc would refuse privileged containers."
  if [[ -e "${config}" ]]; then
    say "${config} exists and is left as it is. If privileged containers fail, set in it: $(restricted_config | tr -d '\n ')"
    return
  fi
  build_wrapper
  say "Writing ${config}: containers run by ${wrapper}, which asks runc only for what this host can give."
  install -d -m 0755 "$(dirname "${config}")"
  restricted_config >"${config}.new"
  mv "${config}.new" "${config}"
}

restricted_config() {
  cat <<JSON
{
  "default-runtime": "restricted",
  "runtimes": {
    "restricted": {"path": "${wrapper}"}
  }
}
JSON
}

build_wrapper() {
  command -v go >/dev/null || die "Building the runtime wrapper needs Go, which is not in PATH." "Install Go (https://go.dev/doc/install) and run this again."
  say "Building ${wrapper}."
  install -d -m 0755 "$(dirname "${wrapper}")"
  CGO_ENABLED=0 go -C "${here}/runtime-wrapper" build -trimpath -o "${wrapper}.new" .
  mv "${wrapper}.new" "${wrapper}"
}

start_engine() {
  if [[ -e "${config}" ]] && grep --quiet --fixed-strings "${wrapper}" "${config}" && [[ ! -x "${wrapper}" ]]; then
    build_wrapper
  fi
  if [[ "$(cat /proc/1/comm)" == "systemd" ]]; then
    say "Starting the service docker."
    systemctl start docker || die "The service docker does not start." "Read: journalctl --unit docker --lines 50"
    return
  fi
  if is_ours_running; then
    say "The dockerd started earlier (process $(cat "${pid_file}")) runs; waiting for it."
    return
  fi
  say "Starting dockerd by hand, because systemd does not run this machine. Log: ${log_file}; to stop it: ${here}/docker-stop.sh"
  # A session of its own: the engine outlives this script, its terminal and the
  # signals that reach its process group.
  setsid dockerd >>"${log_file}" 2>&1 </dev/null &
  echo "$!" >"${pid_file}"
}

wait_until_it_answers() {
  local waited
  for ((waited = 0; waited < timeout; waited++)); do
    if answers; then
      return
    fi
    if [[ -e "${pid_file}" ]] && ! is_ours_running; then
      break
    fi
    if ((waited % 5 == 4)); then
      say "Still waiting for the engine ($((waited + 1)) s of ${timeout} s)."
    fi
    sleep 1
  done
  explain_silence
}

explain_silence() {
  if [[ ! -e "${pid_file}" ]]; then
    die "The engine does not answer after ${timeout} s." "Read: journalctl --unit docker --lines 50"
  fi
  echo "The last lines of ${log_file}:" >&2
  tail --lines 20 "${log_file}" | sed 's/^/    /' >&2
  if is_ours_running; then
    die "dockerd runs, but does not answer after ${timeout} s." "Wait longer with ENGINE_TIMEOUT=300, or stop it with ${here}/docker-stop.sh."
  fi
  rm --force "${pid_file}"
  die "dockerd ended." \
    "Mend what the lines above name and run this again. Frequent causes: another dockerd's /var/run/docker.pid, no iptables in the kernel, a mistake in ${config}."
}

raise_inotify() {
  raise fs.inotify.max_user_instances "${inotify_instances}"
  raise fs.inotify.max_user_watches "${inotify_watches}"
}

# raise never lowers, and where the host forbids the change it says so and goes
# on: a small cluster works without.
raise() {
  local key="$1" wanted="$2" current
  current="$(sysctl --values "${key}")"
  if ((current >= wanted)); then
    return
  fi
  if sysctl --quiet --write "${key}=${wanted}" 2>/dev/null; then
    say "Raised ${key} from ${current} to ${wanted} until the next boot, because each node needs some. To keep it: a line \"${key} = ${wanted}\" in /etc/sysctl.d."
  else
    say "${key} is ${current} and this host does not let it be raised to ${wanted}: clusters of many nodes may fail with \"too many open files\"."
  fi
}

# An engine that ran before is not ours, nor are its host's settings.
advise_inotify() {
  local instances watches
  instances="$(sysctl --values fs.inotify.max_user_instances 2>/dev/null || echo "${inotify_instances}")"
  watches="$(sysctl --values fs.inotify.max_user_watches 2>/dev/null || echo "${inotify_watches}")"
  if ((instances < inotify_instances || watches < inotify_watches)); then
    say "For clusters of several nodes, raise: sudo sysctl -w fs.inotify.max_user_instances=${inotify_instances} fs.inotify.max_user_watches=${inotify_watches}"
  fi
}

# dockerd turns forwarding on itself; without it nodes cannot leave their network.
report_forwarding() {
  if [[ "$(sysctl --values net.ipv4.ip_forward)" != "1" ]]; then
    say "net.ipv4.ip_forward is 0: containers will not reach other networks. Set: sysctl -w net.ipv4.ip_forward=1"
  fi
}

main "$@"
