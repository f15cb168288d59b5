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

# Stops the Podman service that podman.sh started by hand, and no other. A service
# that systemd runs is stopped with systemctl.
#
#   lab/engine/podman-stop.sh
#
# Environment:
#   ENGINE_TIMEOUT  seconds to wait for the service to end; default 60

# shellcheck disable=SC2034 # read by the shared scripts
readonly engine="podman" program="podman"
# shellcheck source=lab/engine/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=lab/engine/process.sh
source "${here}/process.sh"

stop_ours "; containers run on without it, until: podman stop --all"
