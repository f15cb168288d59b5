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

# Measures the floor that "capcon up" is compared with: a cluster made by hand
# from the node image, with nothing between the engine and kubeadm. Control planes
# join one after the other, as etcd requires; workers join concurrently with them.
# Prints the seconds of each step and removes what it made.
#
#   lab/bench/floor.sh [--check | --keep | --clean]
#     --check  also try Pods, a Service and DNS across two nodes
#     --keep   remove nothing at the end
#     --clean  only remove what --keep kept
#
# Environment:
#   ENGINE          docker, podman or auto (default)
#   IMAGE           the node image
#   SUBNET_PREFIX   the first three parts of the network's addresses
#   CONTROL_PLANES  how many (default 1); several are behind an HAProxy container
#   WORKERS         how many (default 1)

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"

image="${IMAGE:-localhost/capcon/node:v1.36.3}"
haproxy=localhost/capcon/haproxy:2.6
prefix="${SUBNET_PREFIX:-172.30.177}"
network=capcon-floor
pod_subnet=10.244.0.0/16
control_planes="${CONTROL_PLANES:-1}"
workers="${WORKERS:-1}"
control_plane=capcon-floor-control-plane-1
worker=capcon-floor-worker-1
endpoint="${prefix}.11"
((control_planes == 1)) || endpoint="${prefix}.10"
readonly mode="$*"
[[ "${mode}" == @(|--check|--keep|--clean) ]] || die "Unknown arguments: ${mode}" "lab/bench/floor.sh [--check | --keep | --clean]"

work="$(mktemp -d)"

clean_up() {
  local containers
  containers="$(engine ps --all --quiet --filter name=^capcon-floor-)"
  # shellcheck disable=SC2086 # one argument each
  [[ -z "${containers}" ]] || engine rm --force --volumes ${containers} >/dev/null
  engine network rm "${network}" >/dev/null 2>&1 || true
}

trap 'rm -rf "${work}"; [[ "${mode}" == --keep ]] || clean_up' EXIT

now() { date +%s%N; }

# step runs a command, prints how long it took and, if it fails, what it wrote.
step() {
  local name="$1" start
  shift
  start="$(now)"
  if ! "$@" >"${work}/output-${BASHPID}" 2>&1; then
    echo "bench-floor: ${name} failed:" >&2
    cat "${work}/output-${BASHPID}" >&2
    exit 1
  fi
  report "${name}" "${start}" "$(now)"
}

report() { awk -v name="$1" -v from="$2" -v to="$3" 'BEGIN { printf "%7.2f s  %s\n", (to - from) / 1e9, name }'; }

# create makes a node; $1 its name, $2 its address.
create() {
  engine create --name "$1" --hostname "$1" --privileged \
    --security-opt seccomp=unconfined --cgroupns=private \
    --tmpfs /run:exec --tmpfs /tmp:exec --volume /var \
    --network "${network}" --ip "$2" "${image}"
  # Same as the nodes of the provider: adapted before the first start.
  engine cp "${work}/files/." "$1:/"
}

start() { engine start "$1"; }

# booted waits until the container runtime answers, which is later than its socket exists.
booted() { until engine exec "$1" crictl --timeout 1s version; do sleep 0.05; done; }

in_node() { engine exec "$@"; }

kubectl() { in_node "${control_plane}" kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }

ready() { kubectl wait --for=condition=Ready node --all --timeout=120s; }

# registered waits for a Node's registration, which kubectl wait needs.
registered() { until kubectl get node "$1"; do sleep 0.1; done; }

# join makes a node of a cluster; $1 its name, $2 its address, $3 kubeadm's configuration.
join() {
  step "create $1" create "$1" "$2"
  step "start $1" start "$1"
  step "boot $1 to the container runtime" booted "$1"
  step "token ready for joining" joinable
  step "kubeadm join of $1" in_node "$1" kubeadm join --config "/etc/capcon-floor/$3.yaml"
  step "register $1" registered "$1"
}

join_all() {
  local i jobs=()
  for ((i = 1; i <= workers; i++)); do
    join "capcon-floor-worker-${i}" "${prefix}.$((20 + i))" join &
    jobs+=($!)
  done
  for ((i = 2; i <= control_planes; i++)); do
    join "capcon-floor-control-plane-${i}" "${prefix}.$((10 + i))" join-control-plane
  done
  for i in "${jobs[@]}"; do
    wait "${i}"
  done
}

# load_balance starts a load balancer that checks the control planes as the provider's does.
load_balance() {
  local i
  cat >"${work}/haproxy.cfg" <<EOF
defaults
    timeout connect 500ms
    timeout client 24h
    timeout server 24h
listen control-plane
    mode tcp
    bind :6443
    balance leastconn
    option redispatch 1
    option httpchk GET /readyz
    http-check expect status 200,401
    default-server check check-ssl verify none inter 2s fastinter 1s downinter 500ms rise 1 fall 3
EOF
  for ((i = 1; i <= control_planes; i++)); do
    echo "    server control-plane-${i} ${prefix}.$((10 + i)):6443" >>"${work}/haproxy.cfg"
  done
  chmod 0644 "${work}/haproxy.cfg"
  engine create --name capcon-floor-load-balancer --network "${network}" --ip "${endpoint}" "${haproxy}"
  engine cp "${work}/haproxy.cfg" capcon-floor-load-balancer:/usr/local/etc/haproxy/haproxy.cfg
  start capcon-floor-load-balancer
}

# Writes what all nodes are given: the adaptation to this host. A runtime that
# may not lower oom_score_adj and a kubelet on cgroup v1 must be configured for it.
write_files() {
  local bounding
  mkdir -p "${work}/files/etc/containerd/conf.d" "${work}/files/etc/capcon-floor"
  bounding="$(engine run --rm --privileged --network none --entrypoint sed "${image}" --quiet 's/^CapBnd:\t//p' /proc/self/status)"
  in_user_namespace=false
  if (((16#${bounding} >> 24 & 1) == 0)); then # CAP_SYS_RESOURCE
    in_user_namespace=true
    cat >"${work}/files/etc/containerd/conf.d/restricted-host.toml" <<EOF
version = 3
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
EOF
  fi
  write_kubeadm_config
}

write_kubeadm_config() {
  local directory="${work}/files/etc/capcon-floor" certificate_key
  certificate_key="$(printf '%064d' 1)"
  cat >"${directory}/init.yaml" <<EOF
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens:
- token: abcdef.0123456789abcdef
certificateKey: "${certificate_key}"
nodeRegistration:
  ignorePreflightErrors: [SystemVerification]
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: ${image##*:}
controlPlaneEndpoint: ${endpoint}:6443
networking:
  podSubnet: ${pod_subnet}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
# As on the provider's nodes: all share the host's disk, however full that is.
imageGCHighThresholdPercent: 100
evictionHard:
  nodefs.available: "0%"
  nodefs.inodesFree: "0%"
  imagefs.available: "0%"
featureGates:
  KubeletInUserNamespace: ${in_user_namespace}
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack:
  maxPerCore: 0
EOF
  cat >"${directory}/join.yaml" <<EOF
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration:
  ignorePreflightErrors: [SystemVerification]
discovery:
  bootstrapToken:
    token: abcdef.0123456789abcdef
    apiServerEndpoint: ${endpoint}:6443
    unsafeSkipCAVerification: true
EOF
  { cat "${directory}/join.yaml" && printf 'controlPlane:\n  certificateKey: "%s"\n' "${certificate_key}"; } >"${directory}/join-control-plane.yaml"
}

# joinable waits until the controllers have signed what a joining node reads:
# kubeadm itself looks only every five seconds.
joinable() { until kubectl --namespace kube-public get configmap cluster-info --output yaml | grep --quiet jws-kubeconfig-; do sleep 0.1; done; }

install_network() {
  in_node "${control_plane}" sed "s|{{ .PodSubnet }}|${pod_subnet}|" /kind/manifests/default-cni.yaml |
    engine exec --interactive "${control_plane}" kubectl --kubeconfig /etc/kubernetes/admin.conf apply --filename -
}

# check_pods tries what users do: a Pod on the one node reaches one on the
# other, directly, by a Service and by its DNS name.
check_pods() {
  local coredns pause pod
  coredns="$(kubectl --namespace kube-system get deployment coredns --output jsonpath='{.spec.template.spec.containers[0].image}')"
  pause="$(in_node "${control_plane}" kubeadm config images list --kubernetes-version "${image##*:}" | grep /pause:)"
  engine exec --interactive "${control_plane}" kubectl --kubeconfig /etc/kubernetes/admin.conf apply --filename - <<EOF
apiVersion: v1
kind: Pod
metadata: {name: server, labels: {app: server}}
spec:
  nodeName: ${worker}
  containers:
  - name: server
    image: ${coredns} # its health plugin is a web server
    args: ["-conf", "/etc/coredns/Corefile"]
    volumeMounts: [{name: config, mountPath: /etc/coredns}]
  volumes: [{name: config, configMap: {name: server}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: server}
data:
  Corefile: |
    .:53 {
      health :8080
    }
---
apiVersion: v1
kind: Service
metadata: {name: server}
spec:
  selector: {app: server}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  nodeName: ${control_plane}
  tolerations: [{operator: Exists}]
  containers:
  - {name: client, image: "${pause}"}
EOF
  kubectl wait --for=condition=Ready pod server client --timeout=60s
  kubectl wait --for=condition=Available --namespace kube-system deployment coredns --timeout=60s
  pod="$(kubectl get pod server --output jsonpath='{.status.podIP}')"
  from_client "http://${pod}:8080/health"
  from_client "http://$(kubectl get service server --output jsonpath='{.spec.clusterIP}')/health"
  from_client http://server.default.svc.cluster.local/health
  # Removing an image that Pods use, and one that none uses, harms neither.
  in_node "${worker}" crictl rmi "${coredns}"
  from_client "http://${pod}:8080/health"
}

# from_client gets a URL with the network and the DNS of the Pod "client", and
# with the node's programs: its image has none.
from_client() {
  # shellcheck disable=SC2016 # for the shell in the node
  in_node "${control_plane}" bash -o errexit -o nounset -o pipefail -c '
    container="$(crictl ps --quiet --name "^client$")"
    pid="$(crictl inspect --output go-template --template "{{.info.pid}}" "${container}")"
    cp "/proc/${pid}/root/etc/resolv.conf" /run/client-resolv.conf
    nsenter --target "${pid}" --net unshare --mount bash -c "
      mount --bind /run/client-resolv.conf /etc/resolv.conf
      curl --silent --show-error --fail --max-time 10 --retry 5 --retry-all-errors $1"' from_client "$1"
}

use_engine
clean_up
[[ "${mode}" != --clean ]] || exit 0
write_files
echo "bench-floor: ${ENGINE} $(engine version --format '{{.Server.Version}}') ${image}"
engine network create --subnet "${prefix}.0/24" "${network}" >/dev/null
upload=()
begin="$(now)"
if ((control_planes > 1)); then
  upload=(--upload-certs)
  step "start the load balancer" load_balance
fi
step "create the control plane's container" create "${control_plane}" "${prefix}.11"
step "start it" start "${control_plane}"
step "boot to the container runtime" booted "${control_plane}"
step "kubeadm init" in_node "${control_plane}" kubeadm init --config /etc/capcon-floor/init.yaml --skip-token-print "${upload[@]}"
step "apply the Pod network" install_network
join_all
step "all Nodes Ready" ready
report "total: ${control_planes} + ${workers} all Ready" "${begin}" "$(now)"
for node in "${control_plane}" "${worker}"; do
  echo "bench-floor: ${node}: $(in_node "${node}" du --summarize --block-size=1M /var | cut -f1) MB in /var"
done
if [[ "${mode}" == --check ]]; then
  step "check Pods and Services across nodes" check_pods
fi
