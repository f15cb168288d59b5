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

// Config is what bootstrap data asks for, in the order in which it is carried out: boot commands, files, users,
// deferred files, commands. That is cloud-init's order.
type Config struct {
	// BootCommands run first, before any file is written.
	BootCommands []Command
	// Files are written in this order; those with Defer after the users exist.
	Files []File
	// Users are created after the files are written.
	Users []User
	// Commands run last, all in one shell, so that cd and export last from one command to the next.
	Commands []Command
}

// File is a file to be put in place in the node.
type File struct {
	// Path is absolute and clean. Missing parent directories are created with mode 0755.
	Path string
	// Owner is "user", "user:group" or empty for root:root.
	Owner string
	// Mode holds the permission bits as chmod takes them, set-uid, set-gid and sticky included. Zero means 0644.
	Mode uint32
	// Append adds Content to the end of a file that exists instead of replacing it.
	Append bool
	// Defer writes the file after the users have been created, so that it may belong to one of them.
	Defer bool
	// Content is the decoded content.
	Content []byte
}

// Command is one command: either Shell or Args. The zero Command does nothing; it keeps the place of an empty entry,
// so that runcmd[3] names the fourth entry of the user's list.
type Command struct {
	// Shell is a piece of shell script, run by /bin/sh.
	Shell string
	// Args is a program and its arguments, passed on without word splitting, globbing or expansion.
	Args []string
}

// User is an account to be created in the node. The zero User creates nothing; it keeps the place of an entry.
type User struct {
	// Name of the account. An account that exists is kept and only completed.
	Name string
	// Gecos is the comment field of the account.
	Gecos string
	// HomeDir is the home directory, by default the one useradd chooses.
	HomeDir string
	// Shell is the login shell, by default the one useradd chooses.
	Shell string
	// UID is the numeric user id, by default the one useradd chooses.
	UID string
	// PrimaryGroup is the name of the primary group, by default one of the user's name. It is created when missing.
	PrimaryGroup string
	// Groups are the supplementary groups. They are created when missing.
	Groups []string
	// ExpireDate is the date YYYY-MM-DD on which the account is disabled.
	ExpireDate string
	// Inactive is the number of days after a password expires until the account is disabled, as useradd takes it.
	Inactive string
	// System creates a system account.
	System bool
	// NoCreateHome leaves the home directory out.
	NoCreateHome bool
	// NoUserGroup leaves the group of the user's name out.
	NoUserGroup bool
	// PasswordHash is the hashed password an account gets when it is created. Secret.
	PasswordHash string
	// NewPasswordHash is the hashed password an account gets even when it exists. Secret.
	NewPasswordHash string
	// NewPassword is the plain password an account gets even when it exists. Secret.
	NewPassword string
	// UnlockPassword keeps password logins possible; by default the password is locked.
	UnlockPassword bool
	// Sudo are rules as they follow the user's name in sudoers.
	Sudo []string
	// SSHAuthorizedKeys are added to the account's authorized_keys.
	SSHAuthorizedKeys []string
}

// Instance is what a template in bootstrap data may know about its machine.
type Instance struct {
	// ID tells this machine from an earlier one of the same name (ds.meta_data.instance_id, v1.instance_id).
	ID string
	// Hostname is the node's host name (ds.meta_data.local_hostname, v1.local_hostname).
	Hostname string
	// Region is v1.region; empty when the machine has none.
	Region string
	// Zone is v1.availability_zone; empty when the machine has no failure domain.
	Zone string
}

// KubeadmOperation is what kubeadm will do in the node, as far as its configuration files tell.
type KubeadmOperation string

const (
	// KubeadmNone means that the data holds no kubeadm configuration; another bootstrap provider made it.
	KubeadmNone KubeadmOperation = ""
	// KubeadmInit creates the first control plane.
	KubeadmInit KubeadmOperation = "init"
	// KubeadmJoinControlPlane adds a control plane and its etcd member: an interrupted one must not be repeated.
	KubeadmJoinControlPlane KubeadmOperation = "join-control-plane"
	// KubeadmJoinWorker adds a worker.
	KubeadmJoinWorker KubeadmOperation = "join-worker"
)
