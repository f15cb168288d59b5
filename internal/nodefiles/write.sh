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

# Writes the files of standard input, each of four lines: path, owner, mode, and content in base64. As at the first boot, links
# and mounts are written through. Other files are replaced in one move, so that none is seen half written: the kubelet
# and containerd leave out files whose names begin with a dot.
umask 077
write() {
  target=$path
  if [ -L "$path" ]; then
    target=$(readlink -m -- "$path") || return
  fi
  if [ -d "$target" ]; then
    echo 'is a directory' >&2
    return 1
  fi
  parent=${target%/*}
  [ -z "$parent" ] || [ -d "$parent" ] || (umask 022 && mkdir -p -- "$parent") || return
  next=$parent/.cluster-api-update
  # In this order: a change of owner takes set-uid away.
  printf '%s' "$content" | base64 -d >"$next" && chown -- "$owner" "$next" && chmod -- "$mode" "$next" || return
  mv -f -- "$next" "$target" 2>/dev/null || {
    cat -- "$next" >"$target" && chown -- "$owner" "$target" && chmod -- "$mode" "$target" && rm -f -- "$next"
  }
}
while IFS= read -r path && IFS= read -r owner && IFS= read -r mode && IFS= read -r content; do
  write || {
    printf 'cannot write %s\n' "$path" >&2
    exit 1
  }
done
