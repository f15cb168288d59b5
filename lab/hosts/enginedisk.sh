# shellcheck shell=bash
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

# The disk of a machine with one engine, enabled in its mode, and with the images that
# capcon needs. Sourced, after machine.sh, by e2e.sh, which has what is shared.

# shellcheck disable=SC2154 # set by e2e.sh

engine_disk=""

# make_engine_disk enables the engine in its mode and loads the images.
make_engine_disk() {
  local id new name
  id="$({ cat "${BASH_SOURCE[0]}" && (cd "${work}/payload/images" && sha256sum "${images[@]/%/.tar}"); } | sha256sum | head --bytes 16)"
  engine_disk="${vm_cache}/engine-${arch}-${engine_name}-${mode}-${id}.qcow2"
  [[ ! -e "${engine_disk}" ]] || return 0
  rm -f "${vm_cache}/engine-${arch}-${engine_name}-${mode}"-*
  new="${vm_cache}/new-${arch}-${engine_name}-${mode}.qcow2"
  layer "${system}/disk.raw" "${new}"
  boot "${new}" "${work}/payload.img"
  "enable_${engine_name}_${mode}"
  wait_for_engine
  for name in "${images[@]}"; do
    step "loading ${name}" on "${engine_name} load --quiet --input /payload/images/${name}.tar"
  done
  power_off
  mv "${new}" "${engine_disk}"
}

# "make engine" starts it, and Debian's package has it started when the machine boots.
enable_docker_rootful() { remote root 'ENGINE=docker /payload/lab/engine/engine.sh start && systemctl enable docker'; }

enable_docker_userns() {
  remote root "mkdir -p /etc/docker; echo '{\"userns-remap\": \"default\"}' >/etc/docker/daemon.json"
  enable_docker_rootful
}

enable_docker_rootless() {
  delegate
  # The tool expects docker next to it.
  remote root 'ln --symbolic /usr/share/docker.io/contrib/dockerd-rootless*.sh /usr/bin'
  remote "${user}" 'PATH=/usr/sbin:$PATH dockerd-rootless-setuptool.sh install'
}

enable_podman_rootful() { remote root 'ENGINE=podman /payload/lab/engine/engine.sh start'; }

# Podman takes the IDs of its containers from those of the user "containers".
enable_podman_userns() {
  remote root "echo containers:1000000:1048576 | tee -a /etc/subuid >>/etc/subgid
    mkdir -p /etc/containers; printf '[containers]\nuserns = \"auto\"\n' >/etc/containers/containers.conf"
  enable_podman_rootful
}

enable_podman_rootless() {
  delegate
  remote "${user}" 'systemctl --user enable --now podman.socket podman-restart'
}

# delegate gives the user's services the controllers that kubelets need, and lets them run
# without a login.
delegate() {
  remote root "mkdir -p /etc/systemd/system/user@.service.d
    printf '[Service]\nDelegate=cpu cpuset io memory pids\n' >/etc/systemd/system/user@.service.d/delegate.conf
    systemctl daemon-reload
    loginctl enable-linger ${user}
    until test -S /run/user/1000/bus; do sleep 1; done"
}

# wait_for_engine waits as long as the machine runs.
wait_for_engine() {
  until on "${engine_name} info >/dev/null 2>&1"; do
    kill -0 "${vm}" || die "QEMU ended."
    sleep 3
  done
}
