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

# Makes sure that the API of Podman answers.
#
# A service that answers already is only reported, never changed. Where none
# does, root on Debian or Ubuntu gets one: packages, on a restricted host a
# configuration where there is none, start. Safe to run again at any time.
# docs/restricted-hosts.md says what the configuration is for.
#
#   lab/engine/podman.sh
#
# Environment:
#   CONTAINER_HOST  the engine to look for; default: the user's default connection,
#                   or unix:///run/podman/podman.sock
#   ENGINE_TIMEOUT  seconds to wait for a started service to answer; default 60

# shellcheck disable=SC2034 # read by the shared scripts
readonly engine="podman" program="podman" \
  endpoint_setting="CONTAINER_HOST and CONTAINER_CONNECTION, or remove the default connection (podman system connection list)," \
  instructions="https://podman.io/docs/installation" \
  without_root="To use Podman without root, on a host with cgroup v2: systemctl --user enable --now podman.socket" \
  frequent_causes="Frequent causes: a mistake in /etc/containers/containers.conf or a file below containers.conf.d."
# shellcheck source=lab/engine/ensure.sh
source "$(dirname "${BASH_SOURCE[0]}")/ensure.sh"

readonly own_config="/etc/containers/containers.conf.d/50-cluster-api-provider-container.conf"

# Networks need netavark with aardvark-dns, which Podman chooses where it finds
# them at its first start and Debian only recommends. One of their versions writes
# rules with iptables, a later one with nft.
readonly packages=(podman netavark aardvark-dns iptables nftables ca-certificates)

# The oldest that was tried: docs/adr/0002-podman.md.
readonly oldest="4.3"

# The configuration is written before the packages: where those start the service
# themselves, its first start has what the host needs.
install_engine() {
  local desired=("${packages[@]}")
  know_package podman
  require_version "$(candidate podman)"
  configure
  if is_cgroup_v1; then
    # Instead of crun, which is what the package would bring.
    desired+=(runc)
  fi
  say "Installing ${desired[*]}, because no podman was found."
  apt_install "${desired[@]}" ||
    die "Podman cannot be installed." "Read the messages above; or follow ${instructions}."
}

require_version() {
  # A package's version may begin with an epoch.
  local version="${1#*:}"
  if [[ "$(printf '%s\n' "${oldest}" "${version}" | sort --version-sort | head --lines 1)" != "${oldest}" ]]; then
    die "The Podman of this system's packages is ${version:-not there}, and ${oldest} or newer is needed." \
      "Follow ${instructions}, or use Docker: make engine ENGINE=docker"
  fi
}

# configure writes what Podman needs on a restricted host, where it lacks that. Only
# where a user has no configuration: a file in containers.conf.d would overrule theirs.
configure() {
  local desired
  desired="$(restricted_config)"
  if [[ -z "${desired}" || "${desired}" == "$(cat "${own_config}" 2>/dev/null)" ]]; then
    return
  fi
  if has_configuration; then
    say "There is a configuration in /etc/containers, which is left as it is. If containers fail to start, set in it:" "${desired}"
    return
  fi
  say "Writing ${own_config}, because of what this host withholds: docs/restricted-hosts.md."
  install -d -m 0755 "$(dirname "${own_config}")"
  echo "${desired}" >"${own_config}.new"
  mv "${own_config}.new" "${own_config}"
}

# restricted_config prints what this host needs, nothing where it is like any other.
# Containers that bound their open files must bound their processes too, or Podman
# adds a limit of its own that may not be set here.
restricted_config() {
  local sections=()
  if is_restricted; then
    sections+=("[containers]" "default_ulimits = [\"nofile=$(ulimit -Hn):$(ulimit -Hn)\", \"nproc=$(processes):$(processes)\"]")
  fi
  if is_cgroup_v1; then
    sections+=("[engine]" "# crun starts no container on cgroup v1 hybrid." "runtime = \"runc\"")
  fi
  if ((${#sections[@]} > 0)); then
    printf '%s\n' "# Written by lab/engine/podman.sh." "${sections[@]}"
  fi
}

# processes is how many a container may have: what Podman itself asks for, or less
# where the host allows less.
processes() {
  local desired=32768 most
  most="$(ulimit -Hu)"
  if [[ "${most}" != unlimited ]] && ((most < desired)); then
    desired="${most}"
  fi
  echo "${desired}"
}

has_configuration() {
  [[ -e /etc/containers/containers.conf ]] ||
    compgen -G '/etc/containers/containers.conf.d/*.conf' | grep --quiet --invert-match --line-regexp --fixed-strings "${own_config}"
}

is_cgroup_v1() { [[ "$(stat --file-system --format %T /sys/fs/cgroup)" != cgroup2fs ]]; }

start_engine() {
  # Also of a Podman that was there: without it, no container starts here.
  configure
  if is_cgroup_v1 && ! command -v runc >/dev/null && is_debian; then
    say "Installing runc, because crun cannot run containers on this host."
    apt_install runc || die "runc cannot be installed." "Read the messages above."
  fi
  if systemd_runs; then
    say "Enabling podman.socket, and podman-restart.service, which starts containers when the machine boots."
    systemctl enable --now podman.socket podman-restart.service ||
      die "The socket podman.socket does not start." "Read: journalctl --unit podman.socket --unit podman.service --lines 50"
    return
  fi
  # With it, podman would take the service for another machine's business.
  unset CONTAINER_HOST
  local path
  path="$(default_endpoint podman)"
  # Who can write to the socket is root.
  install -d -m 0700 "$(dirname "${path#unix://}")"
  forget_killed_containers
  start_by_hand podman system service --time=0 "${path}"
}

# forget_killed_containers leaves Podman as after a boot, where all its processes were
# killed and /run is still there. It would take the containers for running ones without
# end: their monitors, which report an exit, were killed too.
forget_killed_containers() {
  if grep --quiet --no-messages --line-regexp conmon /proc/[0-9]*/comm || [[ -z "$(podman ps --quiet)" ]]; then
    return
  fi
  say "All containers that Podman records as running were killed; it starts as after a boot."
  "${here}/podman-reboot.sh" ||
    die "Podman cannot be started as after a boot." "Read the messages above; or restart the machine."
}

finish() {
  if ! systemd_runs; then
    start_containers
  fi
  local backend
  backend="$(podman --remote info --format '{{.Host.NetworkBackend}}')"
  if [[ "${backend}" != netavark ]]; then
    say "Podman's networks are made by ${backend}, as when it was first used here; this project is tested with netavark." \
      "To change it, install netavark and aardvark-dns and run podman system reset, which removes all containers and images."
  fi
}

# start_containers does what Docker's daemon does whenever it starts, and
# podman-restart.service only after a boot. Nothing shows here whether this is the
# first start after one: /run/libpod/alive is written by any podman, and the monitor of
# an exec session runs one five minutes after its end. Of those that "podman start
# --all" would find, Podman's remote command leaves out what does not run.
start_containers() {
  local stopped
  stopped="$(podman --remote ps --all --quiet --filter restart-policy=always --filter restart-policy=unless-stopped \
    --filter status=created --filter status=exited --filter status=stopped)"
  if [[ -z "${stopped}" ]]; then
    return
  fi
  say "Starting the containers that are to run whenever the engine does."
  xargs podman --remote start <<<"${stopped}" >/dev/null ||
    say "Not all of them could be started, as the messages above say."
}

ensure
