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

# Builds the documentation as a site, from docs/site and the Markdown files, and checks
# its links.
#
#   hack/docs.sh            to _artifacts/docs
#   hack/docs.sh serve      serves it on this machine, and builds again what changes
#
# Environment:
#   DOCS_URL       where it will be published; default: baseURL of docs/site/hugo.yaml
#   DOCS_VERSIONS  set: also the site of each tag, in a directory of its name, each with
#                  the script of that tag

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly theme=github.com/imfing/hextra@v0.9.7
readonly output="${root}/_artifacts/docs"

main() {
  local hugo themes url="${DOCS_URL:-$(sed -n 's/^baseURL: //p' docs/site/hugo.yaml)}"
  hugo="$(tool hugo)"
  themes="$(dirname "$(go mod download -json "${theme}" | awk -F'"' '$2 == "Dir" {print $4}')")"
  # Shown, and what links to files lead to: a tag, or main.
  HUGO_PARAMS_VERSION="$(git describe --tags --always)"
  HUGO_PARAMS_REVISION="$(git describe --tags --exact-match 2>/dev/null || echo main)"
  export HUGO_PARAMS_VERSION HUGO_PARAMS_REVISION
  # Warnings are about names in the theme that a later Hugo will not know.
  local arguments=(--source docs/site --themesDir "${themes}" --theme "${theme##*/}" --noBuildLock --logLevel error)
  if [[ "${1:-}" == serve ]]; then
    exec "${hugo}" server "${arguments[@]}" --environment production --renderToMemory
  fi
  if [[ -n "${DOCS_VERSIONS:-}" ]]; then
    HUGO_PARAMS_ROOT="${url}"
    HUGO_PARAMS_VERSIONS="$(git tag --list 'v*' --sort=-version:refname | xargs)"
    export HUGO_PARAMS_ROOT HUGO_PARAMS_VERSIONS
  fi
  "${hugo}" "${arguments[@]}" --baseURL "${url}" --destination "${output}" --cleanDestinationDir
  [[ -z "${DOCS_VERSIONS:-}" ]] || build_versions "${url}"
  go run ./hack/sitelinks "${output}" "${url}"
  say "${output}/index.html is the site's home page, for ${url}."
}

build_versions() {
  local url="$1" tree version
  tree="$(mktemp --directory)"
  for version in ${HUGO_PARAMS_VERSIONS}; do
    git worktree add --quiet --detach "${tree}/${version}" "${version}"
    (cd "${tree}/${version}" && DOCS_VERSIONS="" DOCS_URL="${url}${version}/" hack/docs.sh)
    mv "${tree}/${version}/_artifacts/docs" "${output}/${version}"
    git worktree remove --force "${tree}/${version}"
  done
  rmdir "${tree}"
}

main "$@"
