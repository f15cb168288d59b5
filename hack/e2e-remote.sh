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


# A cluster on an engine that capcon reaches through SSH alone and, on Docker, through TLS.
#
#   hack/e2e-remote.sh
#
# Environment: as hack/test-quickstart.sh

# shellcheck disable=SC2034 # read by say and die
readonly speaker="e2e-remote"
# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=lab/engine/host.sh
source "${root}/lab/engine/host.sh"

main() {
  [[ -x /usr/sbin/sshd ]] || apt_install openssh-server openssh-client iproute2 ||
    die "The SSH server cannot be installed." "Install openssh-server."
  "${root}/hack/test-quickstart.sh" RemoteEngine
}

main
