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

// Package userdata has the values that the bootstrap data of a machine consists of, whatever its format, and what kubeadm
// will do with them.
package userdata

import "strings"

// Formats of bootstrap data.
const (
	// FormatCloudConfig is the format of a data Secret without a format.
	FormatCloudConfig = "cloud-config"
	// FormatIgnition is the format that the kubeadm bootstrap provider writes where its configuration says "format: ignition".
	FormatIgnition = "ignition"
)

// Config is what bootstrap data asks for, in the order in which it is carried out: boot commands, files, groups, users,
// directories, deferred files, links, commands, units. As far as a format has them, that is the order of cloud-init and
// of Ignition.
type Config struct {
	// Format of the data, which names the steps as the data does; empty means cloud-config.
	Format string
	// BootCommands run first, before any file is written.
	BootCommands []Command
	// Files are written in this order; those with Defer after the users exist.
	Files []File
	// Groups are created before the users.
	Groups []Group
	// Users are created after the files are written.
	Users []User
	// Directories are made before the deferred files, parents first.
	Directories []Dir
	// Links are made after the deferred files.
	Links []Link
	// Commands run last, all in one shell, so that cd and export last from one command to the next.
	Commands []Command
	// Units are those of systemd. The enabled ones are started last, as if the node booted with them, and the bootstrap
	// is done once they are and the contract's sentinel file is there.
	Units []Unit
}

// Switch is a boolean that may be absent.
type Switch int8

const (
	// SwitchUnset means that the data says nothing.
	SwitchUnset Switch = iota
	// SwitchOff means false.
	SwitchOff
	// SwitchOn means true.
	SwitchOn
)

// NoPassword is a hash that no password has.
const NoPassword = "*"

// NoPermissions as a mode is 0000. It is beyond the permission bits, because the zero mode stands for a default.
const NoPermissions uint32 = 1 << 12

// File is a file to be put in place in the node.
type File struct {
	// Path is absolute and clean. Missing parent directories are created with mode 0755.
	Path string
	// Owner is "user", "user:group" or empty for root:root.
	Owner string
	// Mode holds the permission bits as chmod takes them, set-uid, set-gid and sticky included. Zero means 0644.
	Mode uint32
	// Overwrite says what becomes of what is at Path: unset, a file is written into, also through a link; on, a link or
	// directory gives way; off, it is an error.
	Overwrite Switch
	// KeepAttributes keeps owner and mode of a file that exists.
	KeepAttributes bool
	// Append adds Content to the end of a file that exists instead of replacing it.
	Append bool
	// Defer writes the file after the users have been created, so that it may belong to one of them.
	Defer bool
	// Content is the decoded content.
	Content []byte
}

// Dir is a directory to be made in the node.
type Dir struct {
	// Path is absolute and clean. Parents that are missing are made with the same owner and mode.
	Path string
	// Owner is "user:group".
	Owner string
	// Mode as in File.
	Mode uint32
	// Overwrite removes what is at Path first, if it is on.
	Overwrite Switch
}

// Link is a link to be made in the node.
type Link struct {
	// Path is absolute and clean.
	Path string
	// Target is what the link leads to.
	Target string
	// Hard makes a hard link.
	Hard bool
	// Owner of a symbolic link is "user:group".
	Owner string
	// Overwrite says what becomes of what is at Path: on, it gives way; otherwise it is an error.
	Overwrite Switch
}

// Group is a group to be created in the node.
type Group struct {
	// Name of the group. One that exists is kept.
	Name string
	// GID is the numeric id, by default the one groupadd chooses.
	GID string
	// System creates a system group.
	System bool
	// PasswordHash is the hashed password of the group. Secret.
	PasswordHash string
}

// Command is one command: either Shell or Args. The zero Command does nothing; it keeps the place of an empty entry,
// so that runcmd[3] names the fourth entry of the user's list.
type Command struct {
	// Shell is a piece of shell script, run by /bin/sh.
	Shell string
	// Args is a program and its arguments, passed on without word splitting, globbing or expansion.
	Args []string
}

// Script returns the command as shell script; a list is quoted word by word.
func (c Command) Script() string {
	if len(c.Args) == 0 {
		return c.Shell
	}
	words := make([]string, 0, len(c.Args))
	for _, arg := range c.Args {
		words = append(words, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// User is an account to be created in the node. The zero User creates nothing; it keeps the place of an entry.
type User struct {
	// Name of the account. An account that exists is kept and only completed.
	Name string
	// Update changes an existing account to these values.
	Update bool
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
	// ID distinguishes this machine from an earlier one of the same name (ds.meta_data.instance_id, v1.instance_id).
	ID string
	// Hostname is the node's host name (ds.meta_data.local_hostname, v1.local_hostname).
	Hostname string
	// Region is v1.region; empty when the machine has none.
	Region string
	// Zone is v1.availability_zone; empty when the machine has no failure domain.
	Zone string
}
