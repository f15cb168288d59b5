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

package bootstrap

// Paths in the node. What is below Directory holds secrets and is removed once the bootstrap has ended, however it
// ended; what is below RecordPath holds none and stays as long as the node's /var.
const (
	// UnitName is the systemd unit that bootstraps the node.
	UnitName = "cluster-api-bootstrap.service"
	// Directory is where the archive's files and script lie. It is on the root file system: an upload does not reach
	// a volume or a tmpfs on every engine.
	Directory = "/opt/cluster-api-bootstrap"
	// RecordPath is the directory to download for [ReadRecord].
	RecordPath = "/var/lib/cluster-api-bootstrap/record"
	// LogPath is the file in the node with everything the bootstrap printed.
	LogPath = "/var/lib/cluster-api-bootstrap/log"
)

// Input is everything an archive is made of.
type Input struct {
	// Config is the user's part, as Parse and Adapt returned it.
	Config Config
	// Instance is the machine's; its ID is INSTANCE_ID in the environment of commands, as in cloud-init.
	Instance Instance
	// KubeletFlags are flags such as --provider-id=container:///name. They are added after the user's own in
	// KUBELET_EXTRA_ARGS of /etc/default/kubelet, just before each of the user's commands, so that they survive a user
	// who writes that file. A flag the user gives wins; of flags that hold pairs (--node-labels=key=value) the user's
	// pairs win. One pair per flag.
	KubeletFlags []string
	// Files are the provider's own, written before anything of the user's happens.
	Files []File
	// Commands are the provider's own; they run after Files and before anything of the user's.
	Commands []Command
}

// Archive returns an uncompressed tar to be extracted at "/" of a container that was created and not started yet, with
// ownership kept. Equal input gives equal bytes. It holds the private keys that the input holds.
//
// An error means that the provider's part of the input is malformed.
func Archive(in Input) ([]byte, error) {
	return nil, errNotImplemented
}
