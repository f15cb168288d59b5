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

# Opens the page of "capcon dashboard" in Debian's Chromium, which is installed if it is missing, and takes the
# pictures of its guide. No container is used.
#
#   hack/test-dashboard.sh
#
# Environment:
#   UPDATE  set: the pictures replace those of the guide, and are not kept in _artifacts/dashboard

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  command -v chromium >/dev/null || install_chromium
  PICTURES="_artifacts/dashboard"
  if [[ -n "${UPDATE:-}" ]]; then
    PICTURES="docs/how-to/pictures"
  fi
  mkdir -p "${PICTURES}"
  export PICTURES
  MODULE=e2e FORMAT=standard-verbose hack/test-go.sh dashboard -count=1 -timeout=30m -run '^TestIntegrationDashboard$' ./dashboard
}

install_chromium() {
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    die "Chromium is missing." "On Debian and Ubuntu: sudo apt-get install chromium fonts-dejavu-core"
  fi
  say "Installing chromium with apt-get."
  # Lists that are out of date name packages that are no longer there.
  apt-get update --quiet=2
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends chromium fonts-dejavu-core >/dev/null
}

main "$@"
