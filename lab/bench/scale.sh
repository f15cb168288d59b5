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

# Measures what clusters in memory cost the management plane: created, settled, one field changed in
# all, deleted.
#
# Environment:
#   CLUSTERS            numbers of clusters, each measured with a plane of its own (default 10 30)
#   WORKERS             of each cluster, besides its control plane (default 3)
#   RIVAL               capd: compare this provider's manager with CAPD's and its backend in memory, each next to
#                       the stock managers of Cluster API
#   KUBEBUILDER_ASSETS  directory of etcd, kube-apiserver and kube-controller-manager; default:
#                       what "make images" has built

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

binaries="$(plane_programs)"
go build -o bin/capcon-plane ./cmd/capcon-plane
go -C e2e build -o ../bin/capcon-memory ./memory/capcon-memory
go -C e2e build -o ../bin/scale ./memory/scale
flags=(-binaries="${binaries}" -workers="${WORKERS:-3}")
case "${RIVAL:-}" in
"") ;;
capd)
  go -C e2e build -o ../bin/stock/core sigs.k8s.io/cluster-api/core
  go -C e2e build -o ../bin/stock/bootstrap sigs.k8s.io/cluster-api/bootstrap/kubeadm
  go -C e2e build -o ../bin/stock/controlplane sigs.k8s.io/cluster-api/controlplane/kubeadm
  go -C e2e build -o ../bin/stock/capd sigs.k8s.io/cluster-api/test/infrastructure/docker
  flags+=(-rival -cluster-api="$(go -C e2e list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api)"
    -cluster-api-test="$(go -C e2e list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api/test)")
  ;;
*) die "There is no rival ${RIVAL}." "Known: capd" ;;
esac
read -ra numbers <<<"${CLUSTERS:-10 30}"
for clusters in "${numbers[@]}"; do
  bin/scale -clusters="${clusters}" "${flags[@]}"
  echo
done
