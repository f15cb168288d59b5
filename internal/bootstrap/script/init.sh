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

# Completes a kubeadm init that was interrupted. It is part of the script "bootstrap", and is next to it where kubeadm init
# is among the commands, with these files:
#
#   step, path   the name of that command, and the path of kubeadm's configuration
#   run          completes the command and runs those after it
#   config       the configuration, once the command has started

# shellcheck shell=sh disable=SC2154 # its variables are that script's

# complete runs what is left of a kubeadm init and the commands after it. Files that were in a tmpfs are put there again:
# these commands may need them.
complete() {
  prepare
  for step in "$base"/steps/*-file; do
    [ -d "$step" ] && read_place || continue
    case $path in
    /run/* | /tmp/*) put_file || exit ;;
    esac
  done
  /bin/sh "$base/init/run" || exit
  merge_kubelet_flags
}

# is_init says whether a command is the kubeadm init that can be completed.
is_init() {
  [ -e "$base/init/step" ] && read -r init <"$base/init/step" && [ "$init" = "$1" ]
}

# keep_init_config keeps kubeadm's configuration as the commands before kubeadm left it: it is in a tmpfs.
keep_init_config() {
  is_init "$1" && [ ! -s "$base/init/config" ] && read -r config <"$base/init/path" && [ -e "$root$config" ] || return 0
  (umask 077 && cp -- "$root$config" "$base/init/.next") && mv -f -- "$base/init/.next" "$base/init/config"
}

# has_cluster says whether the boot interrupted kubeadm init after it had written its ConfigMap: from then on Cluster API
# counts the cluster as initialized. It waits for the API server as long as kubeadm itself does, four minutes.
has_cluster() {
  read -r last <"$record/state.step" && is_init "$last" && [ -s "$base/init/config" ] || return
  admin=$root/etc/kubernetes/super-admin.conf
  [ -e "$admin" ] || admin=$root/etc/kubernetes/admin.conf
  [ -e "$admin" ] && [ -e "$root/etc/kubernetes/manifests/kube-apiserver.yaml" ] &&
    [ -e "$root/var/lib/kubelet/config.yaml" ] || return
  printf 'bootstrap: %s was interrupted; waiting for the API server\n' "$last"
  deadline=$(($(date +%s) + 240))
  while ! found=$(find_init_config 2>/dev/null); do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      printf 'bootstrap: the API server does not respond\n'
      return 1
    fi
    sleep 1
  done
  if [ -z "$found" ]; then
    printf 'bootstrap: kubeadm has not written the ConfigMap kubeadm-config\n'
    return 1
  fi
  printf 'bootstrap: kubeadm has written the ConfigMap kubeadm-config; completing kubeadm init\n'
}

# find_init_config prints the name of kubeadm's ConfigMap, or nothing if there is none; it fails without an API server.
find_init_config() {
  kubectl --kubeconfig="$admin" --request-timeout=5s get --raw=/readyz >/dev/null &&
    kubectl --kubeconfig="$admin" --request-timeout=5s --namespace=kube-system get configmap kubeadm-config \
      --ignore-not-found --output=name
}
