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

# Prints what limits this node, what its processes use, and what its kubelet has reserved: a name and
# values in each line. Cgroup v2 has memory.max, cgroup v1 a directory for each controller.
cd /sys/fs/cgroup || exit
if [ -e memory.max ]; then
  echo "memory $(cat memory.max)"
  echo "used $(cat memory.current)"
  echo "cache $(sed -n 's/^inactive_file //p' memory.stat)"
  echo "cpu $(cat cpu.max)"
  echo "pids $(cat pids.max)"
else
  echo "memory $(cat memory/memory.limit_in_bytes)"
  echo "used $(cat memory/memory.usage_in_bytes)"
  echo "cache $(sed -n 's/^total_inactive_file //p' memory/memory.stat)"
  echo "cpu $(cat cpu/cpu.cfs_quota_us) $(cat cpu/cpu.cfs_period_us)"
  echo "pids $(cat pids/pids.max)"
fi
if [ -e /run/cluster-api-kubelet-reserved ]; then
  sed 's/^/reserved /' /run/cluster-api-kubelet-reserved
else
  sed -n 's/^\(--system-reserved=[^ ]*\) .*/reserved \1/p' /var/lib/cluster-api-bootstrap/kubelet-settings
fi
