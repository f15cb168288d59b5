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

# Installs the SSH server of the suites RemoteEngine and Engines, if this machine has none.
#
#   lab/engine/sshd.sh

# shellcheck source=lab/engine/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=lab/engine/host.sh
source "${here}/host.sh"

[[ -x /usr/sbin/sshd ]] || apt_install openssh-server openssh-client iproute2 ||
  die "The SSH server cannot be installed." "Install openssh-server."
