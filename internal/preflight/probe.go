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

package preflight

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// unknown is a number that was not to be had.
const unknown = -1

// probeScript prints files of the kernel, each after a line with its name.
// The limits are those of process 1: what is executed may have others. The
// file system of / is where the engine keeps those of its containers.
const probeScript = `
for file in ` + fileWatches + ` ` + fileInstances + ` ` + fileStatus + ` ` + fileLimits + ` \
  ` + filePidMax + ` ` + fileThreadsMax + ` ` + fileUserIDs + ` ` + fileBridge + `; do
  echo "` + sectionMark + `$file"
  cat "$file"
done
if [ -e ` + fileControllers + ` ]; then
  echo "` + sectionMark + fileControllers + `"
  cat ` + fileControllers + `
fi
echo "` + sectionMark + sectionIPv6 + `"
if [ -e /proc/net/if_inet6 ]; then echo 1; else echo 0; fi
echo "` + sectionMark + sectionStorage + `"
stat -f -c "%S %a %b %d %c" /
true`

const (
	fileWatches   = "/proc/sys/fs/inotify/max_user_watches"
	fileInstances = "/proc/sys/fs/inotify/max_user_instances"
	fileStatus    = "/proc/1/status"
	fileLimits    = "/proc/1/limits"

	filePidMax      = "/proc/sys/kernel/pid_max"
	fileThreadsMax  = "/proc/sys/kernel/threads-max"
	fileUserIDs     = "/proc/1/uid_map"
	fileBridge      = "/proc/sys/net/bridge/bridge-nf-call-iptables"
	fileControllers = "/sys/fs/cgroup/cgroup.controllers"

	sectionMark    = "== "
	sectionStorage = "storage"
	sectionIPv6    = "ipv6"
)

// probeLifetime is how long the probe would stay if it were not removed.
const probeLifetime = "60"

// cleanupTimeout bounds removing the probe, also when the caller has gone.
const cleanupTimeout = 30 * time.Second

// ProbeContainer is the container that Probe looks through.
type ProbeContainer struct {
	// Name of it; Labels say which cluster owns it, should it be left behind.
	Name   string
	Labels map[string]string
	// Image needs a POSIX shell.
	Image string
	// Network it starts on; empty = the engine's default one, which no node
	// needs and which may not work.
	Network string
}

// Probe creates the container, privileged, looks at the host from inside, and
// removes it. Image or network absent: ErrNotFound. A container that is
// refused is a fact, see Host.PrivilegedError, and no error.
func Probe(ctx context.Context, containers engine.Containers, probe ProbeContainer) (host Host, err error) {
	name := probe.Name
	_, err = containers.CreateContainer(ctx, engine.Spec{
		Name:       name,
		Image:      probe.Image,
		Attachment: engine.Attachment{Network: probe.Network},
		// Not the image's own: a node's would begin to be one.
		Entrypoint: []string{"sleep", probeLifetime},
		Labels:     probe.Labels,
		// As nodes have it.
		Security: engine.Security{Privileged: true, Unconfined: true, PrivateCgroupNamespace: true},
		Restart:  engine.RestartNever,
	})
	if err == nil {
		defer func() { err = errors.Join(err, remove(ctx, containers, name)) }()
		err = containers.StartContainer(ctx, name)
	}
	if err != nil && refused(ctx, err) {
		host = parseProbe("")
		host.PrivilegedError = err
		return host, nil
	}
	if err != nil {
		return Host{}, fmt.Errorf("start probe %q: %w", name, err)
	}
	output, err := containers.Exec(ctx, name, engine.Command{Args: []string{"sh", "-c", probeScript}})
	if err != nil {
		return Host{}, fmt.Errorf("inspect host from probe %q: %w", name, err)
	}
	return parseProbe(string(output.Stdout)), nil
}

// refused reports whether an engine that can be asked will not run a
// privileged container.
func refused(ctx context.Context, err error) bool {
	for _, other := range []error{engine.ErrNotFound, engine.ErrUnavailable, engine.ErrConflict, engine.ErrUnauthorized} {
		if errors.Is(err, other) {
			return false
		}
	}
	return ctx.Err() == nil
}

func remove(ctx context.Context, containers engine.Containers, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := containers.RemoveContainer(ctx, name); err != nil {
		return fmt.Errorf("remove probe %q: %w", name, err)
	}
	return nil
}

// parseProbe reads what probeScript printed. What it lacks is unknown.
func parseProbe(text string) Host {
	sections := map[string]string{}
	for part := range strings.SplitSeq("\n"+text, "\n"+sectionMark) {
		name, content, _ := strings.Cut(part, "\n")
		sections[strings.TrimSpace(name)] = content
	}
	host := Host{
		InotifyWatches:   number(sections[fileWatches]),
		InotifyInstances: number(sections[fileInstances]),
		OpenFiles:        hardLimit(sections[fileLimits], "Max open files"),
		Processes:        hardLimit(sections[fileLimits], "Max processes"),
		PidMax:           number(sections[filePidMax]),
		ThreadsMax:       number(sections[fileThreadsMax]),
		UserIDs:          mappedIDs(sections[fileUserIDs]),
		BridgeNetfilter:  number(sections[fileBridge]),
		IPv6:             number(sections[sectionIPv6]),
	}
	if text, looked := sections[fileBridge]; looked && strings.TrimSpace(text) == "" {
		host.BridgeNetfilter = 0 // the kernel module is not loaded
	}
	if text, found := sections[fileControllers]; found {
		host.CgroupControllers, host.HasCgroupControllers = strings.Fields(text), true
	}
	host.Capabilities, host.HasCapabilities = boundingSet(sections[fileStatus])
	host.StorageFreeBytes, host.StorageFreeInodes = storage(sections[sectionStorage])
	return host
}

func number(text string) int64 {
	value, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || value < 0 {
		return unknown
	}
	return value
}

// hardLimit reads the second number of a line of /proc/PID/limits; no limit
// is unknown, and well.
func hardLimit(limits, name string) int64 {
	for line := range strings.Lines(limits) {
		values, found := strings.CutPrefix(line, name)
		if fields := strings.Fields(values); found && len(fields) > 1 {
			return number(fields[1])
		}
	}
	return unknown
}

func boundingSet(status string) (set uint64, known bool) {
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, "CapBnd:"); found {
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return set, err == nil
		}
	}
	return 0, false
}

// mappedIDs sums the lengths of the ranges of a user namespace's map.
func mappedIDs(text string) int64 {
	total := int64(unknown)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return unknown
		}
		length := number(fields[2])
		if length == unknown || length > math.MaxUint32 {
			return unknown
		}
		total = max(total, 0) + length
	}
	return total
}

// storage reads block size, free and all blocks, free and all inodes. File
// systems that make inodes as they need them have none in all.
func storage(text string) (freeBytes, freeInodes int64) {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return unknown, unknown
	}
	var values [5]int64
	for i, field := range fields {
		values[i] = number(field)
	}
	size, free, total, inodes, allInodes := values[0], values[1], values[2], values[3], values[4]
	if size <= 0 || free == unknown || total <= 0 || max(free, total) > math.MaxInt64/size {
		return unknown, unknown
	}
	if allInodes <= 0 {
		inodes = unknown
	}
	return free * size, inodes
}
