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

package permissions

import (
	"context"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed observe.sh
var script string

// Engine observes containers with the engine's own command.
type Engine struct {
	// Name is docker or podman.
	Name string
	// Image has bash and stands for the host: a privileged container of it
	// reads the kernel's view of other containers.
	Image string
}

// Container is what was observed of one.
type Container struct {
	Permissions

	// Given are command lines and environments of its processes, those of a
	// node's Pods too.
	Given []byte
	// Inspected is what the engine says of it: labels, environment and
	// arguments among the rest.
	Inspected []byte
}

// command runs the engine's command.
func (e Engine) command(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	if e.Name == "podman" {
		args = append([]string{"--remote"}, args...)
	}
	command := exec.CommandContext(ctx, e.Name, args...)
	command.Stdin = strings.NewReader(stdin)
	output, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s %s: %w: %s", e.Name, args[0], err, exit.Stderr)
	}
	return output, err
}

// inspected is what both engines say of a container.
type inspected struct {
	State  struct{ Pid int }
	Mounts []struct {
		Type, Destination string
		RW                bool
	}
	HostConfig struct {
		Tmpfs        map[string]string
		PortBindings map[string][]struct {
			HostIP string `json:"HostIp"`
		}
	}
}

// Observe a running container. Of its files those are looked at that are wanted.
func (e Engine) Observe(ctx context.Context, container string, want Permissions) (Container, error) {
	raw, err := e.command(ctx, "", "container", "inspect", container)
	if err != nil {
		return Container{}, err
	}
	var all []inspected
	if err := json.Unmarshal(raw, &all); err != nil || len(all) != 1 {
		return Container{}, fmt.Errorf("inspect container %s: %w: %s", container, err, raw)
	}
	args := []string{"run", "--rm", "--interactive", "--privileged", "--pid", "host", "--network", "none", "--entrypoint", "bash", e.Image, "-s", strconv.Itoa(all[0].State.Pid)}
	for _, file := range want.Files {
		args = append(args, file.Glob)
	}
	output, err := e.command(ctx, script, args...)
	if err != nil {
		return Container{}, fmt.Errorf("observe container %s: %w", container, err)
	}
	found := Container{Permissions: Permissions{Name: want.Name}, Inspected: raw}
	found.Mounts, found.Published = mounts(all[0]), published(all[0])
	if err := found.read(string(output), want.Files); err != nil {
		return Container{}, fmt.Errorf("observe container %s: %w", container, err)
	}
	return found, nil
}

// engineSockets are where the engine's socket, or its directory, is mounted.
var engineSockets = []string{"/run/capcon/engine.sock", "/run/capcon/engine", "/var/run/docker.sock", "/run/podman"}

func mounts(container inspected) []string {
	var out []string
	for _, mount := range container.Mounts {
		text := mount.Type + ": " + mount.Destination
		switch {
		case slices.Contains(engineSockets, mount.Destination):
			out = append(out, engineSocket)
			continue
		case !mount.RW:
			text += " (read-only)"
		}
		out = append(out, text)
	}
	for target := range container.HostConfig.Tmpfs {
		out = append(out, "tmpfs: "+target)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func published(container inspected) []string {
	var out []string
	for port, bindings := range container.HostConfig.PortBindings {
		for _, binding := range bindings {
			out = append(out, binding.HostIP+" → "+port)
		}
	}
	return out
}

// standardDevices are those that the runtime specification gives to any container.
var standardDevices = []string{"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}

// read the records of the script.
func (c *Container) read(output string, files []Files) error {
	var given strings.Builder
	var capabilities, host uint64
	c.NoNewPrivileges, c.Seccomp, c.Devices = true, Default, Standard
	for line := range strings.Lines(output) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch kind, fields := fields[0], fields[1:]; kind {
		case "process":
			if fields[1] != "own" {
				continue
			}
			c.Users = append(c.Users, fields[2])
			bounding, err := strconv.ParseUint(fields[4], 16, 64)
			if err != nil {
				return fmt.Errorf("read capabilities of %s: %w", fields[0], err)
			}
			capabilities |= bounding
			c.NoNewPrivileges = c.NoNewPrivileges && fields[5] == "1"
			if fields[6] == "0" {
				c.Seccomp = None
			}
		case "host":
			var err error
			if host, err = strconv.ParseUint(fields[0], 16, 64); err != nil {
				return fmt.Errorf("read capabilities of the host: %w", err)
			}
		case "device":
			if !slices.Contains(standardDevices, fields[0]) {
				c.Devices = All
			}
		case "listens":
			socket, err := listens(fields[0], fields[1])
			if err != nil {
				return err
			}
			c.Listens = append(c.Listens, socket)
		case "file":
			c.Files = append(c.Files, Files{globOf(fields[0], files), fields[1], fields[2]})
		case "cmdline", "environ":
			given.WriteString(line)
		}
	}
	const netBindService = 1 << 10
	switch capabilities {
	case netBindService:
		c.Capabilities = NetBindService
	case 0:
		c.Capabilities = None
	case host:
		c.Capabilities = All
	default:
		c.Capabilities = strconv.FormatUint(capabilities, 16)
	}
	c.Given = []byte(given.String())
	c.Listens = slices.DeleteFunc(c.Listens, func(socket string) bool { return socket == "" })
	return nil
}

// globOf is the one that a file was found by.
func globOf(file string, files []Files) string {
	for _, each := range files {
		if ok, err := path.Match(each.Glob, file); ok && err == nil {
			return each.Glob
		}
	}
	return file
}

// firstDynamicPort is where Linux's default range of ports for clients begins,
// and for servers that do not name one.
const firstDynamicPort = 32768

// listens translates an address of /proc/net/tcp, whose words are in the byte
// order of the host, which is little-endian on what this runs on.
func listens(address, program string) (string, error) {
	host, portText, _ := strings.Cut(address, ":")
	port, err := strconv.ParseUint(portText, 16, 16)
	if err != nil {
		return "", fmt.Errorf("read the listening socket %q: %w", address, err)
	}
	bytes, err := hex.DecodeString(host)
	if err != nil {
		return "", fmt.Errorf("read the listening socket %q: %w", address, err)
	}
	for word := range slices.Chunk(bytes, 4) {
		slices.Reverse(word)
	}
	ip, ok := netip.AddrFromSlice(bytes)
	if !ok {
		return "", fmt.Errorf("read the listening socket %q: %w", address, strconv.ErrSyntax)
	}
	ip = ip.Unmap()
	where := Network
	switch {
	case ip == netip.AddrFrom4([4]byte{127, 0, 0, 11}):
		// Docker's DNS server, which is no process of the container.
		return "", nil
	case ip.IsUnspecified():
		where = Everywhere
	case ip.IsLoopback():
		where = loopback
	}
	shown := strconv.FormatUint(port, 10)
	if port >= firstDynamicPort && where == loopback {
		shown = "dynamic"
	}
	return where + ":" + shown + " " + program, nil
}
