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

# Bootstraps this node once: walks the steps next to it, in order, and keeps a record of how that went. It holds nothing
# of the user's: every path, name and command lies in a file of its own and is read as data.
#
#   bootstrap               run by the unit: look at the record, run the steps, write the end down, remove the secrets
#   bootstrap steps         run all steps; ends with the exit code of the first that fails
#   bootstrap complete      complete a kubeadm init that was interrupted, and run the commands after it
#   bootstrap before NAME   note that the command NAME is next
#   bootstrap kubelet       see to the kubelet's flags, which may be about to start
#
# POSIX sh, and of the node only coreutils, getent and, for users, the passwd package.

set -u

base=${0%/*}
# Only tests set this: they run the script without a node.
root=${CLUSTER_API_BOOTSTRAP_ROOT-}
home=$root/var/lib/cluster-api-bootstrap
record=$home/record
log=$home/log
sentinel=$root/run/cluster-api/bootstrap-success.complete
kubelet=$root/etc/default/kubelet

# Where kubeadm init is among the commands, the file next to the script has these two.
has_cluster() { return 1; }
keep_init_config() { :; }
[ ! -e "$base/init/functions" ] || . "$base/init/functions"

# put NAME VALUE writes a file of the record in one move, so that it is never seen half written.
put() {
  printf '%s\n' "$2" >"$record/.next" && mv -f -- "$record/.next" "$record/$1"
}

# put_log_tail keeps the end of the log. What the log says about commands before the last is rarely of use.
put_log_tail() {
  { tail -n 50 -- "$log" | tail -c 8192; } >"$record/.next" 2>/dev/null
  mv -f -- "$record/.next" "$record/state.log-tail"
}

# The names of the record begin with "state" for a reason: an archive is made in the order of names, so that state is
# read first, and what belongs to an end was written before it.
state() {
  [ -e "$record/state" ] || return 0
  read -r value <"$record/state" || value=
  # Emptied by a crash: it had started.
  printf '%s' "${value:-started}"
}

# The contract's signal lies in a tmpfs, where no archive download sees it.
note_sentinel() {
  if [ -e "$sentinel" ] && [ ! -e "$record/state.kubernetes-up" ]; then
    put state.kubernetes-up true
  fi
}

clean_up() {
  # The secrets first: as long as anything is left of them, the script is there to remove it at the next boot.
  rm -rf -- "$base/steps" "$base/init" && rm -rf -- "$base"
}

begin() {
  put state.step "$1"
  printf 'bootstrap: %s\n' "$1"
}

start() {
  what=steps
  umask 077
  mkdir -p -- "$record" || exit
  case $(state) in
  '') ;;
  done | failed | interrupted)
    clean_up
    exit
    ;;
  *)
    # Booted in the middle of it. kubeadm does not survive being run twice: the controller has to decide, except
    # where the cluster is there already.
    if ! has_cluster >>"$log" 2>&1; then
      put_log_tail
      put state interrupted && clean_up
      exit 1
    fi
    what=complete
    ;;
  esac

  # The kubelet's unit reads these as long as the node exists.
  cp -- "$base/kubelet" "$base/kubelet-settings" "$home/" && put state started || exit
  /bin/sh "$0" "$what" 3>&1 >>"$log" 2>&1 </dev/null
  code=$?
  note_sentinel
  if [ "$code" -eq 0 ]; then
    put state 'done' || exit
  else
    put state.exit-code "$code"
    put_log_tail
    put state failed || exit
  fi
  clean_up || exit
  exit "$code"
}

prepare() {
  # The log is written directly, so that its end is complete when a step fails; the journal gets a copy.
  tail -n +1 -s 0.2 -f --pid=$$ -- "$log" >&3 2>/dev/null 3>&- &
  exec 3>&-
  umask 022
  read -r INSTANCE_ID <"$base/instance-id"
  CLUSTER_API_BOOTSTRAP=$base
  export INSTANCE_ID CLUSTER_API_BOOTSTRAP
}

steps() {
  prepare
  [ ! -e "$base/ignition" ] || . "$base/ignition"
  [ ! -e "$base/joins-control-plane" ] || restart_kubelet_once &
  for step in "$base"/steps/*; do
    [ -d "$step" ] || continue
    case $step in
    *-file) begin_step && put_file ;;
    *-user) begin_step && make_user ;;
    *-commands) /bin/sh "$step/run" ;;
    *-group) begin_step && make_group ;;
    *-directory) begin_step && make_directory ;;
    *-link) begin_step && make_link ;;
    *-units) start_units ;;
    *) false ;;
    esac || exit
  done
  merge_kubelet_flags
}

# restart_kubelet_once restarts the kubelet of a control plane that joins when the API server alongside it is ready. The
# kubelet asks only that one for its certificate, and started long before it: without a restart it would ask again after
# a pause that has doubled up to eight seconds meanwhile, and then register its Node after another.
restart_kubelet_once() {
  while kill -0 "$$" 2>/dev/null; do
    [ ! -e "$root/var/lib/kubelet/pki/kubelet-client-current.pem" ] || return 0
    # The controller manager talks to the API server of its own node, so this kubeconfig does.
    if kubectl --kubeconfig="$root/etc/kubernetes/controller-manager.conf" --request-timeout=5s get --raw=/readyz; then
      systemctl restart kubelet
      return
    fi >/dev/null 2>&1
    sleep 1
  done
}

begin_step() {
  read -r name <"$step/step" && begin "$name"
}

# read_place sets where something goes, whose it is and what may be done with it.
read_place() {
  IFS= read -r path <"$step/path" && read -r owner <"$step/owner" && read -r mode <"$step/mode"
}

put_file() {
  read_place || return
  make_room "$root$path" && make_parent "$root$path" || return
  if [ -e "$step/keep" ] && [ -e "$root$path" ]; then
    cat -- "$step/content" >>"$root$path"
    return
  fi
  write_file "$step/content" "$root$path" || return
  # In this order: a change of owner takes set-uid away.
  chown -- "$owner" "$root$path" && chmod -- "$mode" "$root$path"
}

# write_file writes through links and into bind mounts, as cloud-init does; a new file is root's alone until it has
# its owner and mode.
write_file() (
  umask 077
  if [ -e "$step/append" ]; then
    cat -- "$1" >>"$2"
  else
    cat -- "$1" >"$2"
  fi
)

# make_room does with what is in the way as the data says. What an engine mounted, such as /etc/hosts, is written into.
make_room() {
  [ -e "$step/overwrite" ] && { [ -e "$1" ] || [ -L "$1" ]; } || return 0
  read -r overwrite <"$step/overwrite" || return
  case $overwrite in
  yes) [ -f "$1" ] && [ ! -L "$1" ] && [ ! -e "$step/target" ] || rm -rf -- "$1" ;;
  *)
    printf '%s exists, and must not be overwritten\n' "$1" >&2
    return 1
    ;;
  esac
}

make_parent() {
  parent=${1%/*}
  [ -z "$parent" ] || [ -d "$parent" ] || mkdir -p -- "$parent"
}

make_user() {
  read -r user <"$step/user" || return
  while IFS= read -r group; do
    getent group "$group" >/dev/null || groupadd -- "$group" || return
  done <"$step/groups"
  if ! getent passwd "$user" >/dev/null; then
    with_options "$step/options" useradd "$user" && set_password password-created --encrypted || return
  elif [ -s "$step/update" ]; then
    with_options "$step/update" usermod "$user" || return
  fi
  set_password password-hash --encrypted && set_password password || return
  if [ -e "$step/lock" ]; then
    passwd --lock "$user" >/dev/null || return
  fi
  add_sudo_rules && add_ssh_keys
}

# set_password FILE [OPTION] sets the password in the file of the step, if there is one.
set_password() {
  [ -e "$step/$1" ] || return 0
  chpasswd ${2+"$2"} <"$step/$1"
}

# with_options FILE PROGRAM NAME runs the program for an account, with the options in the file.
with_options() {
  options=$1 program=$2 account=$3
  set --
  while IFS= read -r option; do
    set -- "$@" "$option"
  done <"$options"
  "$program" "$@" -- "$account"
}

add_sudo_rules() {
  [ -e "$step/sudo" ] || return 0
  rules=$root/etc/sudoers.d/90-cloud-init-users
  (umask 027 && mkdir -p -- "${rules%/*}") && cat -- "$step/sudo" >>"$rules" && chmod -- 0440 "$rules"
}

add_ssh_keys() {
  [ -e "$step/ssh-keys" ] || return 0
  directory=$(getent passwd "$user" | cut -d : -f 6) || return
  [ -n "$directory" ] || return
  directory=$root$directory/.ssh
  mkdir -p -- "$directory" && cat -- "$step/ssh-keys" >>"$directory/authorized_keys" &&
    chown -R -- "$user:" "$directory" && chmod -- 0700 "$directory" && chmod -- 0600 "$directory/authorized_keys"
}

# before notes the command that is next. The kubelet's flags are looked at each time, since any command may have written
# the file they are in.
before() {
  note_sentinel
  merge_kubelet_flags && keep_init_config "$1" || exit
  begin "$1"
}

# read_kubelet_args sets args to what systemd makes of the last KUBELET_EXTRA_ARGS in the file, and quote to the quotes
# it is in.
read_kubelet_args() {
  args='' quote='' whole=''
  [ -e "$kubelet" ] || return 0
  while read -r line || [ -n "$line" ]; do
    whole=$whole$line
    case $whole in
    *\\)
      whole=${whole%\\}
      continue
      ;;
    KUBELET_EXTRA_ARGS=*) args=${whole#*=} ;;
    esac
    whole=''
  done <"$kubelet"
  case $args in
  \"*\") quote='"' ;;
  \'*\') quote="'" ;;
  *) return 0 ;;
  esac
  args=${args#?}
  args=${args%?}
}

# given says whether the user's args hold the flag: the same key of a flag with pairs, or any value of another.
given() {
  pair=${1#*=}
  case $1 in
  *=*=*) case " $args" in *" ${1%%=*}"*"${pair%%=*}="*) return 0 ;; esac ;;
  *) case " $args " in *" ${1%%=*}="* | *" ${1%%=*} "*) return 0 ;; esac ;;
  esac
  return 1
}

# merge_kubelet_flags adds what is missing in a last line of its own: the last assignment counts, and what the user or
# the image wrote stays as it is.
merge_kubelet_flags() {
  [ -s "$base/kubelet-flags" ] || return 0
  read_kubelet_args || return
  added=''
  while IFS= read -r flag; do
    given "$flag" || added="$added $flag"
  done <"$base/kubelet-flags"
  [ -n "$added" ] || return 0
  merged=$args$added
  # The image's file may end without a line break.
  if [ -s "$kubelet" ] && [ -n "$(tail -c 1 -- "$kubelet")" ]; then
    echo >>"$kubelet" || return
  fi
  mkdir -p -- "${kubelet%/*}" && printf '%s\n' "KUBELET_EXTRA_ARGS=$quote${merged# }$quote" >>"$kubelet"
}

# The whole script is read before it begins: it removes itself.
case ${1-start} in
start) start ;;
steps) steps ;;
complete) complete ;;
before) before "$2" ;;
kubelet) merge_kubelet_flags ;;
*) exit 64 ;;
esac
exit
