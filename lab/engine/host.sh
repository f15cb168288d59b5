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

# What engines need of their host, whichever engine it is. Sourced.

# Each node runs systemd, kubelet and containerd, of which each holds inotify
# instances; the kernel's 128 per user are used up by a few nodes. The figures
# are above what kind recommends for several nodes (512 and 524288), as one user
# runs several clusters here.
readonly inotify_instances=1024
readonly inotify_watches=524288

is_debian() {
  local ids
  ids=" $(. /etc/os-release 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}") "
  [[ "${ids}" == *" debian "* || "${ids}" == *" ubuntu "* ]]
}

# is_restricted checks by the kernel's bounding set (bit 24) whether
# CAP_SYS_RESOURCE is absent, which restricted hosts drop: nothing may
# then be given a higher limit than what gives it has.
is_restricted() {
  local bounding
  bounding="$(awk '/^CapBnd:/ {print $2}' /proc/self/status)"
  ((((16#${bounding} >> 24) & 1) == 0))
}

# apt_install installs packages, after updating the package lists where those do
# not know the first or are out of date.
apt_install() {
  know_package "$1"
  install_packages "$@" || {
    say "Updating the package lists and trying again, because the installation did not succeed."
    update_lists && install_packages "$@"
  }
}

know_package() {
  if [[ -z "$(candidate "$1")" ]]; then
    say "Updating the package lists, because $1 is not in them."
    update_lists || die "The package lists cannot be updated." "Check the network and /etc/apt, and run this again."
  fi
}

# candidate prints the version that would be installed.
candidate() { apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ && $2 != "(none)" {print $2}'; }

update_lists() { apt-get update --quiet=2; }

install_packages() {
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends "$@" >/dev/null
}

raise_inotify() {
  raise fs.inotify.max_user_instances "${inotify_instances}"
  raise fs.inotify.max_user_watches "${inotify_watches}"
}

# raise never lowers, and where the host forbids the change it says so and
# continues: a small cluster works without.
raise() {
  local key="$1" desired="$2" current
  current="$(setting "${key}")"
  if ((current >= desired)); then
    return
  fi
  if echo "${desired}" 2>/dev/null >"/proc/sys/${key//./\/}"; then
    say "Raised ${key} from ${current} to ${desired} until the next boot, because each node needs some. To keep it: a line \"${key} = ${desired}\" in /etc/sysctl.d."
  else
    say "${key} is ${current} and this host does not let it be raised to ${desired}: clusters of many nodes may fail with \"too many open files\"."
  fi
}

# setting reads a kernel setting. Not with sysctl: a small system may lack it.
setting() { cat "/proc/sys/${1//./\/}"; }

# An engine that ran before is not ours, nor are its host's settings.
advise_inotify() {
  if (($(setting fs.inotify.max_user_instances) < inotify_instances || $(setting fs.inotify.max_user_watches) < inotify_watches)); then
    say "For clusters of several nodes, raise: sudo sysctl -w fs.inotify.max_user_instances=${inotify_instances} fs.inotify.max_user_watches=${inotify_watches}"
  fi
}

# Engines turn forwarding on themselves, Podman with its first network; without it
# nodes cannot leave their network.
report_forwarding() {
  if [[ "$(setting net.ipv4.ip_forward)" != "1" ]]; then
    say "net.ipv4.ip_forward is 0: containers will not reach other networks. Set: sysctl -w net.ipv4.ip_forward=1"
  fi
}
