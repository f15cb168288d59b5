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

# Makes the image of the manager from bin/manager, for a management cluster.
#
#   hack/image-manager.sh
#
# Environment:
#   ENGINE  docker, podman or auto (default)

set -o errexit -o nounset -o pipefail

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "${root}"
use_engine
tar --directory bin --create --owner=0 --group=0 manager |
  engine import --change 'ENTRYPOINT ["/manager"]' --change 'USER 65532:65532' - localhost/capcon/manager:dev
