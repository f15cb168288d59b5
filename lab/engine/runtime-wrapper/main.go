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

// Command runtime-wrapper is an OCI runtime for hosts that lack a capability.
//
// Docker asks the runtime for every capability it knows when a container is
// privileged, and runc refuses to start one when the host's own bounding set
// lacks any of them ("unable to apply caps"). The wrapper removes what the host
// cannot give from the container's config.json (create, run) and from the
// process description of an exec, and then becomes runc: same arguments, same
// file descriptors, same process id. It is set as default-runtime only in an
// engine that lab/engine/docker.sh installs.
//
// It imports the standard library only.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// runtimeName is looked up in PATH, so that the distribution's runc is used and
// updates with it.
const runtimeName = "runc"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "runtime-wrapper: %v\n", err)
		os.Exit(1)
	}
}

// run adapts the files that args name and replaces this process by runc. It
// returns only with an error.
func run(args []string) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("read the host's capabilities: %w", err)
	}
	available, err := parseBoundingSet(string(status))
	if err != nil {
		return err
	}
	if err := adapt(parseInvocation(args), available); err != nil {
		return err
	}

	runtime, err := exec.LookPath(runtimeName)
	if err != nil {
		return fmt.Errorf("look up the runtime: %w", err)
	}
	if err := syscall.Exec(runtime, append([]string{runtimeName}, args...), os.Environ()); err != nil {
		return fmt.Errorf("execute %q: %w", runtime, err)
	}
	return nil
}

// adapt rewrites the one file that the invocation makes runc read. Invocations
// that set no capabilities are left alone.
func adapt(inv invocation, available capabilitySet) error {
	switch {
	case inv.command == "create" || inv.command == "run":
		path := filepath.Join(inv.bundle, "config.json")
		return rewriteFile(path, func(data []byte) ([]byte, error) { return restrictConfig(data, available) })
	case inv.command == "exec" && inv.process != "":
		return rewriteFile(inv.process, func(data []byte) ([]byte, error) { return restrictProcess(data, available) })
	default:
		return nil
	}
}

// rewriteFile replaces the content of a file as a whole, with its mode kept: a
// reader sees the old or the new text, never a half.
func rewriteFile(path string, change func([]byte) ([]byte, error)) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the container's description: %w", err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the container's description: %w", err)
	}
	after, err := change(before)
	if err != nil {
		return fmt.Errorf("restrict %q: %w", path, err)
	}

	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the container's description: %w", err)
	}
	_, err = temporary.Write(after)
	err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the container's description: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}
