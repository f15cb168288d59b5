#!/bin/sh
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


# What the script next to it needs for the steps that only Ignition has. Ignition works before the first boot; this works
# at its end, and makes systemd do what it would have done had all been there from the beginning.

units=$root/run/systemd/system
waiter=cluster-api-bootstrap-units.target
kubelet_hook=$units/kubelet.service.d/90-cluster-api-bootstrap.conf

make_group() {
  read -r group <"$step/group" || return
  if ! getent group "$group" >/dev/null; then
    with_options "$step/options" groupadd "$group" || return
  fi
  chgpasswd --encrypted <"$step/password"
}

make_directory() {
  read_place || return
  make_room "$root$path" && make_directories "$root$path" && chown -- "$owner" "$root$path" && chmod -- "$mode" "$root$path"
}

# make_directories gives parents that it makes the same owner and mode, the deepest first: others may not be entered.
make_directories() (
  parent=${1%/*}
  if [ -n "$parent" ] && [ ! -e "$parent" ]; then
    make_directories "$parent" && chown -- "$owner" "$parent" && chmod -- "$mode" "$parent" || exit
  fi
  [ -d "$1" ] || mkdir -- "$1"
)

make_link() {
  read_place && IFS= read -r target <"$step/target" || return
  make_room "$root$path" && make_parent "$root$path" || return
  if [ -e "$step/hard" ]; then
    ln -T -- "$root$target" "$root$path"
    return
  fi
  ln -s -T -- "$target" "$root$path" && chown -h -- "$owner" "$root$path"
}

# start_units starts the enabled units, all in one transaction and in the order that they ask for, waits for them, and
# ends when the contract's sentinel file is there. Until then they are enabled for this boot only: a node that stops in
# the middle must not run kubeadm again when it boots.
start_units() {
  begin_step
  hook_into_kubelet && merge_kubelet_flags && each_unit masked mask_unit || return
  each_unit disabled disable_unit && each_unit enabled enable_unit && write_waiter && systemctl daemon-reload || return
  each_unit masked stop_unit && each_unit disabled stop_unit && each_unit changed restart_unit || return
  read -r name unit <"$step/enabled" && begin "$name"
  follow_journal
  systemctl start --no-block default.target && wait_for_units && wait_for_sentinel
  code=$?
  [ -z "$follower" ] || kill "$follower" 2>/dev/null
  [ "$code" -eq 0 ] || return "$code"
  rm -f -- "$kubelet_hook" "$units/$waiter"
  each_unit enabled enable_for_good && systemctl daemon-reload
}

# each_unit LIST FUNCTION calls the function with each unit of the list; its place in the data is in name.
each_unit() {
  while read -r name unit; do
    "$2" "$unit" </dev/null || return
  done <"$step/$1"
}

mask_unit() {
  mkdir -p -- "$root/etc/systemd/system" && rm -rf -- "$root/etc/systemd/system/$1" &&
    ln -s -- /dev/null "$root/etc/systemd/system/$1"
}

# disable_unit and stop_unit have nothing to do for a unit that is not there.
disable_unit() {
  begin "$name" && { [ "$(property LoadState "$1")" = not-found ] || systemctl disable -- "$1"; }
}

enable_unit() {
  begin "$name" && systemctl enable --runtime -- "$1"
}

enable_for_good() {
  systemctl enable -- "$1"
}

stop_unit() {
  begin "$name" && { ! systemctl is-active --quiet -- "$1" || systemctl stop -- "$1"; }
}

# restart_unit has a unit that runs already read what was changed of it.
restart_unit() {
  begin "$name" && systemctl try-restart -- "$1"
}

# hook_into_kubelet sees to the kubelet's flags whenever it starts: any of the units may have written the file they are in.
hook_into_kubelet() {
  mkdir -p -- "${kubelet_hook%/*}" &&
    printf '[Service]\nExecStartPre=-/bin/sh %s/bootstrap kubelet\n' "$base" >"$kubelet_hook"
}

# write_waiter writes a target that is reached when no enabled unit has a job any more. It wants none of them: what the
# boot does not start, it does not either.
write_waiter() {
  {
    printf '[Unit]\nDescription=End of what the bootstrap starts\nDefaultDependencies=no\n'
    while read -r name unit; do
      printf 'After=%s\n' "$unit"
    done <"$step/enabled"
  } >"$units/$waiter"
}

wait_for_units() {
  systemctl start "$waiter" &
  waiting=$!
  while kill -0 "$waiting" 2>/dev/null; do
    note_sentinel
    sleep 0.2
  done
  wait "$waiting" && check_units
}

# wait_for_sentinel waits while a unit runs that may write it.
wait_for_sentinel() {
  while [ ! -e "$sentinel" ]; do
    check_units || return
    if [ -z "$running" ]; then
      begin "$(tail -n 1 -- "$step/enabled" | cut -d ' ' -f 1)"
      printf 'no enabled unit runs any more, and none has written %s\n' "${sentinel#"$root"}"
      return 1
    fi
    sleep 1
  done
}

# check_units ends with the exit code of the first unit that failed, or else of one that was not started for that: the
# cause before its effect.
check_units() {
  running=''
  each_unit enabled check_failed && each_unit enabled check_started
}

check_failed() {
  case $(property ActiveState "$1") in
  failed) end_of_unit "$1" ;;
  inactive) ;;
  *) running=yes ;;
  esac
}

# check_started passes units that were started, whose conditions did not hold, or that this boot does not want.
check_started() {
  [ "$(property ActiveState "$1")" = inactive ] || return 0
  [ "$(property InactiveExitTimestampMonotonic "$1")" = 0 ] && [ "$(property ConditionTimestampMonotonic "$1")" = 0 ] ||
    return 0
  case " $(property WantedBy "$1") $(property RequiredBy "$1") " in
  *' multi-user.target '* | *' default.target '*) end_of_unit "$1" 'it was not started; a unit that it requires failed' ;;
  esac
}

# end_of_unit UNIT [REASON] ends with the unit's exit code, after the last lines that it printed.
end_of_unit() {
  begin "$name"
  journalctl --sync 2>/dev/null
  journalctl --boot --quiet --no-pager --output=cat --lines=50 --unit="$1"
  [ $# -eq 1 ] || printf '%s: %s\n' "$1" "$2"
  unit_exit_code "$1"
}

unit_exit_code() {
  code=$(property ExecMainStatus "$1")
  # CLD_EXITED is 1; otherwise it is the number of a signal.
  [ "$(property ExecMainCode "$1")" = 1 ] || [ "${code:-0}" -eq 0 ] || code=$((128 + code))
  [ "${code:-0}" -ge 1 ] && [ "$code" -le 255 ] || code=1
  return "$code"
}

property() {
  systemctl show --property="$1" --value -- "$2"
}

# follow_journal copies what the enabled units print to the log while they run. The last lines of one that fails are
# copied once more, since this may be late for them.
follow_journal() {
  follower=''
  set --
  while read -r name unit; do
    set -- "$@" "--unit=$unit"
  done <"$step/enabled"
  journalctl --boot --quiet --no-pager --output=cat --follow "$@" 2>/dev/null &
  follower=$!
}
