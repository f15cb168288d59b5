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
# An engine that answers already is only reported, never changed. Where none
# does, root on Debian or Ubuntu gets one: package, configuration where there is
# none, start. Safe to run again at any time.
#
#   lab/engine/docker.sh
#
# Environment:
#   DOCKER_HOST     the engine to look for; default: that of the current context,
#                   or unix:///var/run/docker.sock
#   ENGINE_TIMEOUT  seconds to wait for a started engine to answer; default 60

readonly config="/etc/docker/daemon.json"
readonly wrapper="/usr/local/libexec/cluster-api-provider-container/runtime-wrapper"
# shellcheck disable=SC2034 # read by the shared scripts
readonly engine="docker" program="dockerd" \
  endpoint_setting="DOCKER_HOST, or use the default context (docker context use default)," \
  instructions="https://docs.docker.com/engine/install/" \
  without_root="If an engine runs but you may not use its socket: sudo usermod --append --groups docker ${USER:-you}, then log in again." \
  frequent_causes="Frequent causes: another dockerd's /var/run/docker.pid, no iptables in the kernel, a mistake in ${config}."
# shellcheck source=lab/engine/ensure.sh
source "$(dirname "${BASH_SOURCE[0]}")/ensure.sh"

# The configuration is written before the package: where the package starts the
# engine itself, its first start has what the host needs.
install_engine() {
  local desired=(docker.io)
  configure
  know_package docker.io
  # Debian 13 has the command in a package of its own.
  if [[ -n "$(candidate docker-cli)" ]]; then
    desired+=(docker-cli)
  fi
  say "Installing ${desired[*]}, because dockerd or its command is not there."
  apt_install "${desired[@]}" ||
    die "docker.io cannot be installed." "Read the messages above; or follow ${instructions}."
}

# configure does nothing where the host has what Docker asks for in every privileged
# container.
configure() {
  local desired
  is_restricted || [[ "${DOCKERD:-}" == built ]] || return 0
  desired="$(restricted_config)"
  [[ "${desired}" != "$(cat "${config}" 2>/dev/null)" ]] || return 0
  ! is_restricted || say "This host lacks CAP_SYS_RESOURCE (limit of open files: $(ulimit -Hn)): runc would refuse privileged containers."
  if [[ -e "${config}" ]]; then
    say "${config} exists and is left as it is. If privileged containers fail, set in it: $(tr -d '\n ' <<<"${desired}")"
    return
  fi
  build_wrapper
  say "Writing ${config}: containers run by ${wrapper}, which asks runc only for what this host can give."
  install -d -m 0755 "$(dirname "${config}")"
  echo "${desired}" >"${config}.new"
  mv "${config}.new" "${config}"
}

# A dockerd that was built here asks for time namespaces, which the runc of Debian 13 lacks.
restricted_config() {
  local features=""
  [[ "${DOCKERD:-}" != built ]] || features=$'\n  "features": {"time-namespaces": false},'
  cat <<JSON
{${features}
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
  # Also of a Docker that was there: without it, no privileged container starts here.
  configure
  if [[ -e "${config}" ]] && grep --quiet --fixed-strings "${wrapper}" "${config}" && [[ ! -x "${wrapper}" ]]; then
    build_wrapper
  fi
  if systemd_runs; then
    say "Starting the service docker."
    systemctl start docker || die "The service docker does not start." "Read: journalctl --unit docker --lines 50"
    return
  fi
  start_by_hand dockerd
}

finish() { report_forwarding; }

ensure
