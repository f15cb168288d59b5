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

# Lets the kubelet of this node reserve what the arguments say, of --system-reserved each. Standard input is the
# script that its unit runs first: that of an earlier release does not know of this. The kubelet reports
# what it started with, so that one that was not restarted is seen.
set -e
base=/var/lib/cluster-api-bootstrap
cat >"$base/kubelet.new"
for flag; do printf '%s\n' "$flag"; done >"$base/kubelet-reserved.new"
mv -- "$base/kubelet.new" "$base/kubelet"
mv -- "$base/kubelet-reserved.new" "$base/kubelet-reserved"
systemctl restart kubelet
