/*
Copyright 2026 The cluster-api-provider-container Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package recipes

// difference is something that our node image has otherwise than kind's.
type difference struct {
	// what is written the same in images/README.md; why is the reason.
	what, why string
}

// differences is the whole list. Tests compare it with kind's own files, as
// far as files show them, and with images/README.md.
func differences() []difference {
	return []difference{
		{"Debian bookworm", "kind has trixie; bookworm is what the other images and most build machines have"},
		{"without fuse-overlayfs", "neither its package nor containerd's snapshotter for it: for kernels older than 5.11"},
		{"without nfs-common and open-iscsi", "for tests of network storage; nfs-common brings services along"},
		{"versions of containerd and runc", "the newest of the same minor version or one later"},
		{"containerd imports /etc/containerd/conf.d/*.toml", "so that a node is adapted to its host by adding a file"},
		{"preloaded images lie in /usr/lib/containerd-preloaded", "not in /var, which is copied into each node's volume; unpacked, so that no node unpacks them"},
		{"registry.k8s.io/pause:3.10.1 is a name of the pause image", "Cluster API's e2e framework runs it in Pods, also where there is no registry"},
		{"flannel as the default Pod network", "kind's own is not published as a Go module"},
		{"no default storage class", "its provisioner is not published as a Go module; kind then makes its built-in one"},
		{"CoreDNS with the plugins of kubeadm's Corefile", "the others take most of the build"},
		{"no collected licenses in /LICENSES", "Debian's copyright files are there; those of Go modules are in `third-party-licenses.txt` of a release"},
	}
}

// omittedPackages are of kind's list of Debian packages.
func omittedPackages() []string { return []string{"fuse-overlayfs", "nfs-common", "open-iscsi"} }

// omittedFiles are of kind's images/base/files.
func omittedFiles() []string {
	return []string{
		"etc/systemd/system/containerd-fuse-overlayfs.service",
		"usr/local/bin/clean-install", // installs packages during a docker build
	}
}
