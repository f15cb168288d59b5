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

# What docker.sh and podman.sh have in common: an engine that answers is only
# reported, never changed; where none does, root on Debian or Ubuntu gets one. Sourced,
# after these have been set:
#
#   engine            the engine's name and that of its command
#   program           what runs as its process, and is missing where it must be installed
#   endpoint_setting  what may name another engine than this machine's
#   instructions      where its makers say how to install it
#   without_root      what a user may do who is not root
#   frequent_causes   why it may have ended
#
# and before these functions are defined, and "ensure" is called:
#
#   install_engine  installs it, with the configuration that this host needs
#   start_engine    starts it
#   finish          does and says what is left once it answers

# shellcheck disable=SC2154 # set by those who source this file

# shellcheck source=lab/engine/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=lab/engine/host.sh
source "${here}/host.sh"
# shellcheck source=lab/engine/process.sh
source "${here}/process.sh"

ensure() {
  local where
  where="$(endpoint "${engine}")"
  if answers "${engine}"; then
    say "An engine answers at ${where}: $(server_version "${engine}"). Nothing is changed."
    advise_inotify
    return
  fi
  say "No ${engine} answers at ${where}."

  require_local "${where}"
  require_root
  if ! command -v "${program}" >/dev/null || ! command -v "${engine}" >/dev/null; then
    is_debian || die_not_debian
    install_engine
  fi
  if ! answers "${engine}"; then
    start_engine
  fi
  wait_until_it_answers
  raise_inotify
  finish
  say "The engine is ready: $(server_version "${engine}")."
}

# A remote engine cannot be installed from here.
require_local() {
  # /var/run is /run under its old name.
  if [[ "${1/#unix:\/\/\/var\/run/unix:///run}" != "$(default_endpoint "${engine}" | sed 's|^unix:///var/run|unix:///run|')" ]]; then
    die "What is to be used is $1, which is not this machine's default socket." \
      "Start that engine, or unset ${endpoint_setting} to use a local one."
  fi
}

require_root() {
  if [[ "${EUID}" -eq 0 ]]; then
    return
  fi
  if command -v "${program}" >/dev/null || is_debian; then
    die "Installing or starting an engine needs root." "Run: sudo ${here}/${engine}.sh" "${without_root}"
  fi
  die_not_debian
}

die_not_debian() {
  die "This machine is neither Debian nor Ubuntu: the engine is not installed for you." \
    "Follow ${instructions}, start the engine and run this again."
}
