/*
Copyright 2026 The cluster-api-provider-container Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package debian

import "github.com/capi-samples/cluster-api-provider-container/images/builder/build"

// addIptablesWrapper makes the commands of iptables use the same of the
// kernel's two interfaces as the node they run on: rules of the one are not
// seen by the other. The kubelet marks the node's with a chain of its own.
func addIptablesWrapper(t *build.Tree) {
	t.Write("usr/sbin/iptables-wrapper", iptablesWrapper, 0o755)
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			t.Link("iptables-wrapper", "usr/sbin/"+family+suffix)
		}
	}
}

// iptablesWrapper needs nothing but a POSIX shell. The answer is kept in a file
// since kube-proxy calls these commands often.
const iptablesWrapper = `#!/bin/sh
# Runs the variant of iptables (nft or legacy) that this node uses.
set -eu
state=/tmp/iptables-mode
mode=
if [ -r "${state}" ]; then
  read -r mode <"${state}" || true
fi
case "${mode}" in
nft | legacy) ;;
*)
  found=
  for mode in nft legacy; do
    for family in iptables ip6tables; do
      case "$("${family}-${mode}-save" -t mangle 2>/dev/null || true)" in
      *:KUBE-IPTABLES-HINT* | *:KUBE-KUBELET-CANARY*)
        found="${mode}"
        break 2
        ;;
      esac
    done
  done
  mode="${found:-nft}"
  # Without the kubelet's mark the answer may still change.
  if [ -n "${found}" ]; then
    echo "${mode}" >"${state}" 2>/dev/null || true
  fi
  ;;
esac
name="${0##*/}"
case "${name}" in
iptables* | ip6tables*) ;;
*)
  echo "iptables-wrapper: call it as iptables or ip6tables" >&2
  exit 2
  ;;
esac
suffix="${name#*tables}"
exec "/usr/sbin/${name%"${suffix}"}-${mode}${suffix}" "$@"
`
