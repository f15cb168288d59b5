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

# Disturbs each piece of work of the controllers once for each call of the engine and each
# write to the API server, on the simulated engine: the manager is killed, an answer is lost,
# the engine refuses, objects lose their status. Each row states how the work ends.
#
#   hack/test-faults.sh

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The race detector takes ten times as long, and sees the same code in the other tests.
exec hack/test-go.sh faults -short -timeout=30m -run "${faults}" ./controllers/... ./cmd/capcon/internal/localregistry
