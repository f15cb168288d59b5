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

# Makes the system of the virtual machine: disk.raw, vmlinuz and initrd in a directory.
# machine.sh calls it, in a mount namespace of its own.
#
#   lab/hosts/system.sh DIRECTORY ARCHITECTURE SUITE KERNEL_SUITE MIRROR PACKAGES USER PUBLIC_KEY

set -o errexit -o nounset -o pipefail

readonly directory="$1" architecture="$2" suite="$3" kernel_suite="$4" mirror="$5" packages="$6" user="$7" public_key="$8"
readonly new="${directory}/root"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

main() {
  debootstrap --arch="${architecture}" --variant=minbase --include="${packages}" "${suite}" "${new}" "${mirror}"
  mount -t proc proc "${new}/proc"
  install_kernel
  configure_network
  configure_users
  # Each run enables the engine that it is about.
  in_system systemctl disable docker.service docker.socket podman.socket podman-restart.service
  echo 'tmpfs /tmp tmpfs defaults 0 0' >"${new}/etc/fstab"
  echo '/dev/vdb /payload ext4 ro 0 0' >>"${new}/etc/fstab"
  mkdir "${new}/payload"
  rm -rf "${new}/var/cache/apt/archives"/*.deb "${new}/var/lib/apt/lists"/*
  umount "${new}/proc"
  truncate --size=24G "${directory}/disk.raw"
  mkfs.ext4 -q -d "${new}" "${directory}/disk.raw"
  rm -rf --one-file-system "${new}"
}

in_system() { chroot "${new}" "$@"; }

# The initramfs has only what mounts the disk: unpacking it is slow in emulation.
install_kernel() {
  echo 'MODULES=list' >"${new}/etc/initramfs-tools/conf.d/modules"
  printf '%s\n' virtio_pci virtio_blk ext4 >>"${new}/etc/initramfs-tools/modules"
  echo "deb ${mirror} ${kernel_suite} main" >"${new}/etc/apt/sources.list.d/kernel.list"
  in_system apt-get update --quiet=2
  in_system apt-get install --yes --quiet=2 --no-install-recommends --target-release "${kernel_suite}" "linux-image-${architecture}"
  rm "${new}/etc/apt/sources.list.d/kernel.list"
  cp "${new}"/boot/vmlinuz-* "${directory}/vmlinuz"
  cp "${new}"/boot/initrd.img-* "${directory}/initrd"
}

# QEMU's user network: an address by DHCP, and a name server.
configure_network() {
  echo debian13 >"${new}/etc/hostname"
  echo '127.0.0.1 localhost debian13' >"${new}/etc/hosts"
  printf '[Match]\nName=en*\n\n[Network]\nDHCP=yes\n' >"${new}/etc/systemd/network/80-dhcp.network"
  echo 'nameserver 10.0.2.3' >"${new}/etc/resolv.conf"
  in_system systemctl enable systemd-networkd
}

configure_users() {
  local home
  in_system useradd --create-home --shell /bin/bash "${user}"
  for home in root "home/${user}"; do
    install -D -m 0600 "${public_key}" "${new}/${home}/.ssh/authorized_keys"
  done
  in_system chown --recursive "${user}:${user}" "/home/${user}/.ssh"
}

main
