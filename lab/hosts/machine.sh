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

# A virtual machine of Debian 13 without hardware acceleration: systemd, cgroup v2, all
# capabilities, AppArmor, both engines. Its disks are layers that are cached by their
# content: the system, on it an engine with its images, on that the changes of one run.
# Sourced.

# shellcheck source=hack/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../hack/lib.sh"
# shellcheck source=lab/engine/host.sh
source "${root}/lab/engine/host.sh"

readonly suite="trixie"
readonly mirror="${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
# On amd64, Debian 13's kernel 6.12 panics in QEMU 7.2, where the CPU has cx16; without,
# haproxy ends with SIGILL. Debian 12's kernel, 6.1, runs both.
readonly kernel_suite="bookworm"
# arch is the architecture of the machine, by the name that Go and Debian have for it.
readonly arch="${ARCH:-amd64}"
case "${arch}" in
amd64) readonly qemu=(qemu-system-x86_64 -machine q35 -cpu Westmere) console=ttyS0 qemu_package=qemu-system-x86 ;;
arm64) readonly qemu=(qemu-system-aarch64 -machine virt -cpu cortex-a76) console=ttyAMA0 qemu_package=qemu-system-arm ;;
*) die "ARCH is ${arch}." "It is amd64 or arm64." ;;
esac
readonly packages="systemd-sysv,libpam-systemd,dbus,dbus-user-session,udev,openssh-server,apparmor,initramfs-tools,zstd,linux-base,uidmap,rootlesskit,slirp4netns,passt,fuse-overlayfs,docker.io,docker-cli,podman,netavark,aardvark-dns,crun,iptables,nftables,ca-certificates,iproute2,kmod,procps"

readonly vm_cache="${cache}/host"
readonly key="${vm_cache}/key"
# The user of rootless engines.
readonly user="user"

# The directory with the system's disk, its kernel and its initramfs.
system=""

make_system() {
  local id
  id="$(cat "${root}/lab/hosts/system.sh" <(echo "${arch} ${suite} ${kernel_suite} ${mirror} ${packages} ${user}") | sha256sum | head --bytes 16)"
  system="${vm_cache}/system-${arch}-${id}"
  [[ ! -e "${system}" ]] || return 0
  rm -rf --one-file-system "${vm_cache}/system-${arch}"-* "${vm_cache}/engine-${arch}"-*
  mkdir -p "${system}.new/root"
  # In a namespace of its own, so that its mounts end with it, however it ends.
  unshare --mount "${root}/lab/hosts/system.sh" "${system}.new" "${arch}" "${suite}" "${kernel_suite}" "${mirror}" "${packages}" "${user}" "${key}.pub" \
    >"${vm_cache}/system.log" 2>&1 ||
    die "The system of the machine cannot be made." "Its last lines: $(tail --lines 3 "${vm_cache}/system.log" | tr '\n' ' ')" "All of them: ${vm_cache}/system.log"
  mv "${system}.new" "${system}"
}

require_tools() {
  local program
  [[ "${EUID}" -eq 0 ]] || die "To make the disk of a machine takes root." "Run: sudo --preserve-env make e2e RUN=host"
  is_debian || die "Only Debian and Ubuntu have debootstrap." "Run this on one of them."
  for program in debootstrap "${qemu[0]}" qemu-img ssh mkfs.ext4; do
    command -v "${program}" >/dev/null && continue
    apt_install debootstrap "${qemu_package}" qemu-utils openssh-client e2fsprogs ||
      die "QEMU and debootstrap cannot be installed." "Read the messages above."
  done
  mkdir -p "${vm_cache}"
  [[ -e "${key}" ]] || ssh-keygen -q -t ed25519 -N '' -f "${key}"
}

# layer makes a disk $2 that has the changes to disk $1.
layer() {
  local format=qcow2
  [[ "$1" == *.raw ]] && format=raw
  qemu-img create -q -f qcow2 -b "$1" -F "${format}" "$2"
}

vm="" port=""

# boot starts the machine from a disk with a payload (a directory, read-only at /payload)
# and returns when it takes commands.
boot() {
  local disk="$1" payload="$2"
  port="$(free_port)"
  # TCG translates with one thread for each CPU. The disk's content may be lost with
  # this host, as no run needs it after.
  "${qemu[@]}" -accel tcg,thread=multi,tb-size=1024 -smp 2 -m "${MEMORY:-6144}" \
    -display none -serial "file:${disk%.*}.console" -monitor none \
    -kernel "${system}/vmlinuz" -initrd "${system}/initrd" -append "root=/dev/vda rw console=${console} mitigations=off quiet" \
    -drive "file=${disk},if=virtio,format=qcow2,cache=unsafe" -drive "file=${payload},if=virtio,format=raw,readonly=on" \
    -netdev "user,id=net,hostfwd=tcp:127.0.0.1:${port}-:22" -device virtio-net-pci,netdev=net -device virtio-rng-pci &
  vm="$!"
  wait_for_ssh "${disk%.*}.console"
}

free_port() {
  local candidate
  while :; do
    candidate="$((20000 + RANDOM % 10000))"
    if ! (: <"/dev/tcp/127.0.0.1/${candidate}") 2>/dev/null; then
      echo "${candidate}"
      return
    fi
  done
}

# wait_for_ssh waits as long as QEMU runs: emulation on a busy host is slow.
wait_for_ssh() {
  until remote root true 2>/dev/null; do
    kill -0 "${vm}" 2>/dev/null || die "QEMU ended before the machine took commands." "Its console: $1"
    sleep 2
  done
}

# remote runs a shell command as a user of the machine.
remote() {
  ssh -i "${key}" -p "${port}" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
    -o ConnectTimeout=30 -o ServerAliveInterval=60 "$1@127.0.0.1" "$2"
}

# reboot_machine returns when the machine takes commands again.
reboot_machine() {
  local before
  before="$(remote root 'cat /proc/sys/kernel/random/boot_id')"
  remote root 'systemctl reboot' || true # the connection ends with it
  until [[ "$(remote root 'cat /proc/sys/kernel/random/boot_id' 2>/dev/null)" != @("${before}"|"") ]]; do
    kill -0 "${vm}" 2>/dev/null || die "QEMU ended while the machine rebooted."
    sleep 2
  done
}

power_off() {
  remote root 'systemctl poweroff' || true # the connection ends with it
  wait "${vm}"
}

end_machine() {
  [[ -z "${vm}" ]] || kill "${vm}" 2>/dev/null || true
}
