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

# Leaves out those of our flags that the kubelet's configuration sets: a flag would win over it. kubeadm writes the
# configuration from its file, from the cluster's ConfigMap and with patches, and it can change later, so it is read
# before each start of the kubelet, by the kubelet's unit and with its environment. The file kubelet-settings next to this
# one has lines of a flag and the name that sets it. The file kubelet-reserved, if there is one, has the --system-reserved
# of a node whose limits were changed, a line each, instead of those it was created with.

set -uf

# Only tests set this.
root=${CLUSTER_API_BOOTSTRAP_ROOT-}
base=${0%/*}
config=/var/lib/kubelet/config.yaml directory=
# The last of equal flags counts.
for word in ${KUBELET_CONFIG_ARGS-} ${KUBELET_KUBEADM_ARGS-} ${KUBELET_EXTRA_ARGS-}; do
  case $word in
  --config=*) config=${word#*=} ;;
  --config-dir=*) directory=${word#*=} ;;
  esac
done

# sets says whether the configuration or one of its drop-ins has a value of that name, in YAML or JSON. Names occur once.
sets() {
  pattern="^([^#]*[^#A-Za-z0-9])?$1[\"']?[[:space:]]*:"
  grep -Eqs -- "$pattern" "$root$config" ||
    { [ -n "$directory" ] && grep -EqRs --include='*.conf' -- "$pattern" "$root$directory"; }
}

before=" ${KUBELET_EXTRA_ARGS-} "
args=$before

# reserves says whether the user reserves that resource by a flag.
reserves() {
  for word in ${KUBELET_KUBEADM_ARGS-} $args; do
    case $word in
    --system[-_]reserved=*) case ",${word#*=}," in *",$1="*) return 0 ;; esac ;;
    esac
  done
  return 1
}

if [ -f "$base/kubelet-reserved" ]; then
  while read -r flag name; do
    case $flag in --system-reserved=*)
      case $args in *" $flag "*) args="${args%%" $flag "*} ${args#*" $flag "}" ;; esac
      ;;
    esac
  done <"$base/kubelet-settings"
  while read -r flag; do
    key=${flag#*=}
    key=${key%%=*}
    if sets systemReserved; then
      printf 'left out %s: the configuration of the kubelet sets systemReserved\n' "$flag"
    elif ! reserves "$key"; then
      args="$args$flag "
    fi
  done <"$base/kubelet-reserved"
  # What this kubelet starts with.
  cp -- "$base/kubelet-reserved" "$root/run/cluster-api-kubelet-reserved"
fi
while read -r flag name; do
  case $args in
  *" $flag "*)
    if sets "$name"; then
      printf 'left out %s: the configuration of the kubelet sets %s\n' "$flag" "$name"
      args="${args%%" $flag "*} ${args#*" $flag "}"
    fi
    ;;
  esac
done <"$base/kubelet-settings"
[ "$args" = "$before" ] ||
  printf 'KUBELET_EXTRA_ARGS="%s"\n' "$(printf '%s' "$args" | sed 's/[\\"$`]/\\&/g')" >"$root/run/cluster-api-bootstrap-kubelet"
