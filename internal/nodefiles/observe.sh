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

# Prints the record of updates in the directory that is the first argument, then what is at the paths that standard
# input has, one in a line, and at those of the record, each by its number, and then the state of the units that are the
# other arguments.
record=$1/record
shift
recorded() {
  [ ! -e "$record" ] || cat -- "$record"
}
recorded || exit
{
  cat
  recorded | sed -n 's/^path //p'
} | {
  number=0
  while IFS= read -r path; do
    if [ -f "$path" ]; then
      about=$(stat -Lc '%a %U %G %u %g' -- "$path") && sum=$(sha256sum <"$path") || {
        printf 'cannot read %s\n' "$path" >&2
        exit 1
      }
      printf 'file %s %s %s\n' "$number" "$about" "${sum%% *}"
    elif [ -e "$path" ] || [ -L "$path" ]; then
      printf 'file %s\n' "$number"
    fi
    number=$((number + 1))
  done
} || exit
for unit; do
  printf 'unit %s\n' "$unit"
  systemctl show -p InvocationID -p ActiveState -p SubState -p Result -- "$unit" || exit
done
