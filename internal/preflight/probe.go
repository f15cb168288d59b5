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
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// probeScript prints one "key value" line per fact, and leaves out what it
// cannot find. /var is a volume: it lies where the engine keeps containers.
const probeScript = `
echo "openFiles $(ulimit -Hn)"
for limit in max_user_watches max_user_instances; do
  [ -r /proc/sys/fs/inotify/$limit ] && echo "$limit $(cat /proc/sys/fs/inotify/$limit)"
done
while read -r key value; do [ "$key" = CapBnd: ] && echo "capabilities $value"; done </proc/self/status
set -- $(stat -f -c "%a %S %d" /var) && echo "freeBytes $(($1 * $2))" && echo "freeInodes $3"
exit 0
`

// sleepForever keeps the probe's container up while it is looked at.
const sleepForever = "while :; do sleep 3600; done"

// removeTimeout is how long the probe's container may take to go when the
// caller's time is over.
const removeTimeout = 10 * time.Second

// Probe creates a privileged container of the image with that name and
// labels, looks at the host from inside, and removes it. The image needs a
// POSIX shell. Image absent: ErrNotFound. A container that is refused is a
// fact, see Host.PrivilegedError, and no error.
func Probe(ctx context.Context, containers engine.Containers, name, image string, labels map[string]string) (host Host, err error) {
	if _, err := containers.CreateContainer(ctx, engine.Spec{
		Name:       name,
		Image:      image,
		Labels:     labels,
		Entrypoint: []string{"/bin/sh", "-c", sleepForever},
		Mounts:     []engine.Mount{{Type: engine.MountVolume, Target: "/var"}},
		Security:   engine.Security{Privileged: true, Unconfined: true, PrivateCgroupNamespace: true},
	}); err != nil {
		return Host{}, fmt.Errorf("create container %q: %w", name, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		if removeError := containers.RemoveContainer(ctx, name); removeError != nil {
			err = errors.Join(err, fmt.Errorf("remove container %q: %w", name, removeError))
		}
	}()
	if err := containers.StartContainer(ctx, name); err != nil {
		if errors.Is(err, engine.ErrUnavailable) || ctx.Err() != nil {
			return Host{}, fmt.Errorf("start container %q: %w", name, err)
		}
		host := unknownHost()
		host.PrivilegedError = err
		return host, nil
	}
	output, err := containers.Exec(ctx, name, engine.Command{Args: []string{"/bin/sh", "-c", probeScript}})
	if err != nil {
		return Host{}, fmt.Errorf("look at the host from container %q: %w", name, err)
	}
	return parseProbe(output.Stdout), nil
}

func unknownHost() Host {
	return Host{InotifyWatches: -1, InotifyInstances: -1, OpenFiles: -1, StorageFreeBytes: -1, StorageFreeInodes: -1}
}

// parseProbe reads what the script printed; a line it does not understand
// leaves its fact unknown.
func parseProbe(output []byte) Host {
	host := unknownHost()
	numbers := map[string]*int64{
		"openFiles":          &host.OpenFiles,
		"max_user_watches":   &host.InotifyWatches,
		"max_user_instances": &host.InotifyInstances,
		"freeBytes":          &host.StorageFreeBytes,
		"freeInodes":         &host.StorageFreeInodes,
	}
	scanner := bufio.NewScanner(bytes.NewReader(output))
	for scanner.Scan() {
		key, value, _ := strings.Cut(strings.TrimSpace(scanner.Text()), " ")
		value = strings.TrimSpace(value)
		if key == "capabilities" {
			set, err := strconv.ParseUint(value, 16, 64)
			host.Capabilities, host.HasCapabilities = set, err == nil
			continue
		}
		if target, known := numbers[key]; known {
			if number, err := strconv.ParseInt(value, 10, 64); err == nil {
				*target = number
			}
		}
	}
	return host
}
