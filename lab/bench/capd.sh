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

# Compares this provider with CAPD, both with Cluster API's stock managers. Builds
# CAPD and the managers from their modules (lab/bench/capd/go.mod) once for each
# version, and runs lab/bench/capd.
#
#   lab/bench/capd.sh [FLAG]...     flags of lab/bench/capd
#
# Environment:
#   ROUNDS  how many of each (default 3)
#
# It stops and starts the engine, with everything that runs on it.

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

readonly module="${root}/lab/bench/capd"
readonly artifacts="${root}/_artifacts/bench-capd"
readonly capi="sigs.k8s.io/cluster-api"
readonly plane_image="localhost/capcon/plane:dev"
readonly load_balancer="localhost/capcon/haproxy:2.6"
# CAPD composes the name of the load balancer's image and ends it with /haproxy.
readonly capd_load_balancer="localhost/capcon-bench/haproxy:2.6"

main() {
  local programs managers
  mkdir -p "${artifacts}"
  programs="$(ENGINE=docker image_programs "${plane_image}")"
  managers="$(managers)"
  # Of this checkout, whatever is committed; Go's cache makes it quick.
  CGO_ENABLED=0 go build -C "${root}" -trimpath -ldflags="-s -w" -o "${artifacts}/manager" .
  capd_load_balancer_image
  docker network inspect kind >/dev/null 2>&1 || docker network create kind >/dev/null
  go -C "${module}" build -o "${artifacts}/bench-capd" .
  "${artifacts}/bench-capd" \
    -root "${root}" -programs "${programs}" -managers "${managers}" \
    -capi "$(module_directory "${capi}")" -capd "$(module_directory "${capi}/test")" \
    -load-balancer-image "${load_balancer}" -capd-load-balancer-image "${capd_load_balancer}" \
    -rounds "${ROUNDS:-3}" "$@"
}

module_directory() {
  go -C "${module}" mod download "$1"
  go -C "${module}" list -m -f '{{.Dir}}' "$1"
}

# managers prints a directory with the managers, built once for each version.
managers() {
  local key directory
  key="$(cat "${module}/go.mod" "${module}/go.sum" <(declare -f managers compile) <(go version) | sha256sum | cut --characters=1-20)"
  directory="${cache}/bench-managers/${key}"
  if [[ ! -d "${directory}" ]]; then
    say "Building CAPD and Cluster API's managers: some minutes, once for each version." >&2
    rm -rf "${directory}.new"
    mkdir -p "${directory}.new"
    compile "${directory}.new/core" "${capi}/core"
    compile "${directory}.new/bootstrap" "${capi}/bootstrap/kubeadm"
    compile "${directory}.new/control-plane" "${capi}/controlplane/kubeadm"
    compile "${directory}.new/capd" "${capi}/test/infrastructure/docker"
    mv "${directory}.new" "${directory}"
    # Older versions are quickly rebuilt from Go's own cache.
    find "${cache}/bench-managers" -mindepth 1 -maxdepth 1 ! -name "${key}" -exec rm -rf {} +
  fi
  echo "${directory}"
}

compile() { CGO_ENABLED=0 nice -n 10 go -C "${module}" build -trimpath -buildvcs=false -ldflags="-s -w" -o "$1" "$2"; }

# capd_load_balancer_image gives the load balancer's image what CAPD expects of
# kindest/haproxy: it runs as root, and with a configuration that is there before
# CAPD writes one.
capd_load_balancer_image() {
  local container
  container="$(docker create "${load_balancer}")"
  printf 'global\n  maxconn 1000\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\nfrontend none\n  bind 127.0.0.1:65000\n' >"${artifacts}/haproxy.cfg"
  docker cp "${artifacts}/haproxy.cfg" "${container}:/usr/local/etc/haproxy/haproxy.cfg" >/dev/null
  docker commit --change 'USER 0:0' --change 'ENTRYPOINT ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]' \
    --change 'CMD []' "${container}" "${capd_load_balancer}" >/dev/null
  docker rm "${container}" >/dev/null
}

main "$@"
