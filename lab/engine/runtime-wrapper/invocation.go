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

package main

import "strings"

// invocation is what the wrapper needs to know of runc's command line.
type invocation struct {
	// command is runc's subcommand; empty where there is none (runc --version).
	command string
	// bundle is the directory that holds config.json. Default: the working
	// directory, as in runc.
	bundle string
	// process is the file that describes the process of an exec; empty where the
	// process is given by flags, which name no capability by default.
	process string
}

// valueFlags are the flags of runc, and of its create, run and exec, that take
// a value in the following argument; all others are switches. To know them is to
// know where the flags end and the container's own command begins.
// See https://github.com/opencontainers/runc/tree/main/man.
var valueFlags = map[string]bool{
	"root": true, "log": true, "log-format": true, "criu": true, "rootless": true,
	"bundle": true, "b": true, "console-socket": true, "pidfd-socket": true, "pid-file": true, "preserve-fds": true,
	"process": true, "p": true, "cwd": true, "env": true, "e": true, "user": true, "u": true,
	"additional-gids": true, "g": true, "process-label": true, "apparmor": true, "cap": true, "c": true, "cgroup": true,
}

// parseInvocation finds the subcommand and the two flags of interest, in either
// spelling (-b DIR, --bundle DIR, --bundle=DIR). It ends at the container's id:
// what follows is no flag of runc.
func parseInvocation(args []string) invocation {
	inv := invocation{bundle: "."}
	for len(args) > 0 {
		name, value, joined := flagOf(args[0])
		switch {
		case name == "" && inv.command == "":
			inv.command = args[0]
		case name == "":
			return inv
		case !joined && valueFlags[name] && len(args) > 1:
			value, args = args[1], args[1:]
		}
		args = args[1:]

		switch name {
		case "bundle", "b":
			inv.bundle = value
		case "process", "p":
			inv.process = value
		}
	}
	return inv
}

// flagOf splits "--name=value"; the name is empty where arg is no flag.
func flagOf(arg string) (name, value string, joined bool) {
	if !strings.HasPrefix(arg, "-") || arg == "-" || arg == "--" {
		return "", "", false
	}
	return strings.Cut(strings.TrimLeft(arg, "-"), "=")
}
