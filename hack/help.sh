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

# Lists the targets of the makefiles given, by group: "##@ Group" starts one, and
# "target: … ## text" is listed in it. Groups of one name are listed together.
#
#   hack/help.sh MAKEFILE...

set -o errexit -o nounset -o pipefail

awk '
  /^##@ / {
    group = substr($0, 5)
    if (!(group in lines)) { order[++groups] = group; lines[group] = "" }
  }
  /^[a-zA-Z0-9_.-]+:.*## / {
    target = $0; sub(/:.*/, "", target)
    text = $0; sub(/.*## /, "", text)
    lines[group] = lines[group] sprintf("  %-27s %s\n", target, text)
  }
  END {
    for (i = 1; i <= groups; i++) if (lines[order[i]] != "") printf "\n%s\n%s", order[i], lines[order[i]]
  }
' "$@"
