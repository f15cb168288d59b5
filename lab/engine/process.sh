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

# Starting and stopping an engine's process by hand, where systemd does not run
# the machine. Sourced after lib.sh, with "engine" set to the engine's name and
# "program" to that of its process.

# shellcheck disable=SC2154 # set by those who source this file

# An engine's own pid file, if it has one, does not say who started it.
readonly pid_file="/run/cluster-api-provider-container-${program}.pid"
readonly log_file="/var/log/cluster-api-provider-container-${program}.log"
readonly timeout="${ENGINE_TIMEOUT:-60}"

systemd_runs() { [[ "$(cat /proc/1/comm)" == "systemd" ]]; }

# is_ours_running is true for a live process that start_by_hand started. The name
# is compared because process ids are used again.
is_ours_running() {
  local pid
  pid="$(cat "${pid_file}" 2>/dev/null)" || return 1
  [[ "$(cat "/proc/${pid}/comm" 2>/dev/null)" == @("${program}"|env|setsid) ]] && ! is_dead "${pid}"
}

# is_dead is true for a process that ended and whose parent has not noticed yet.
is_dead() { grep --quiet '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }

# await_last_end waits until the id of one that was killed is free: a dockerd that
# starts earlier takes it for one that runs, and ends.
await_last_end() {
  local pid waited
  pid="$(cat "${pid_file}" 2>/dev/null)" || return 0
  for ((waited = 0; waited < timeout * 5; waited++)); do
    is_dead "${pid}" || return 0
    sleep 0.2
  done
}

# start_by_hand runs a command in a session of its own: the engine outlives this
# script, its terminal and the signals that reach its process group. It runs in /,
# as by systemd: its containers' monitors inherit the directory, keep it busy, and
# write a file named oom into it when a container runs out of memory.
start_by_hand() {
  if is_ours_running; then
    say "The ${program} started earlier (process $(cat "${pid_file}")) runs; waiting for it."
    return
  fi
  await_last_end
  say "Starting ${program} by hand, because systemd does not run this machine. Log: ${log_file}; to stop it: ${here}/${engine}-stop.sh"
  env --chdir=/ setsid "$@" >>"${log_file}" 2>&1 </dev/null &
  echo "$!" >"${pid_file}"
}

stop_ours() {
  local what="$1" pid waited
  if ! is_ours_running; then
    rm --force "${pid_file}"
    say "No ${program} that ${engine}.sh started runs here. Nothing is stopped."
    return
  fi
  pid="$(cat "${pid_file}")"
  say "Stopping ${program} (process ${pid})${what}."
  kill -s TERM "${pid}" || die "The process ${pid} cannot be signaled." "Run: sudo ${here}/${engine}-stop.sh"
  for ((waited = 0; waited < timeout * 5; waited++)); do
    if ! is_ours_running; then
      rm --force "${pid_file}"
      say "Stopped."
      return
    fi
    sleep 0.2
  done
  die "${program} still runs after ${timeout} s." "Read ${log_file}; wait longer with ENGINE_TIMEOUT=300."
}

wait_until_it_answers() {
  local start="${SECONDS}" said="${SECONDS}"
  while ((SECONDS - start < timeout)); do
    if answers "${engine}"; then
      return
    fi
    if [[ -e "${pid_file}" ]] && ! is_ours_running; then
      break
    fi
    if ((SECONDS - said >= 5)); then
      said="${SECONDS}"
      say "Still waiting for the engine ($((SECONDS - start)) s of ${timeout} s)."
    fi
    sleep 0.5
  done
  explain_silence
}

explain_silence() {
  if [[ ! -e "${pid_file}" ]]; then
    die "The engine does not answer after ${timeout} s." "Read: journalctl --unit ${engine} --lines 50"
  fi
  echo "The last lines of ${log_file}:" >&2
  tail --lines 20 "${log_file}" | sed 's/^/    /' >&2
  if is_ours_running; then
    die "${program} runs, but does not answer after ${timeout} s." "Wait longer with ENGINE_TIMEOUT=300, or stop it with ${here}/${engine}-stop.sh."
  fi
  rm --force "${pid_file}"
  die "${program} ended." "Fix what the lines above name and run this again." "${frequent_causes:-}"
}
