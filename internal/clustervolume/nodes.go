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

package clustervolume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// Path of the directory of a PersistentVolume in a node. It exists only while the PersistentVolume is
// bound there: below it is what is bound, so that there is never an empty directory in its place.
func Path(volume string) string { return path.Join(node.BoundPath, volume, "data") }

// IsPath reports whether a path is that of a PersistentVolume of this name.
func IsPath(directory, volume string) bool { return directory == Path(volume) }

var (
	// ErrNoVolume says that a node was created without the volume of the cluster.
	ErrNoVolume = errors.New("the node was created without the volume of the cluster; replace its Machine")
	// ErrNoDirectory says that the directory of a PersistentVolume does not exist.
	ErrNoDirectory = errors.New("the directory of the PersistentVolume does not exist in the volume of the cluster")
	// ErrBusy says that another command works on the same directory, such as one that copies it.
	ErrBusy = errors.New("another command works on the directory of the PersistentVolume")
	// ErrChanged says that another process has changed the token since it was observed.
	ErrChanged = errors.New("the owner of the PersistentVolume has changed")
)

// Exit codes of the scripts.
var exits = map[int]error{3: ErrNoVolume, 4: ErrNoDirectory, 5: ErrBusy, 6: ErrChanged}

// The operations, which are the scripts' names ($0).
const (
	OperationObserve = "observe"
	OperationCreate  = "create"
	OperationCopy    = "copy"
	OperationRevoke  = "revoke"
	OperationBind    = "bind"
	OperationUnbind  = "unbind"
	OperationRemove  = "remove"
)

const (
	// prelude: the variables of all scripts. A PersistentVolume is the directory $d with
	//   data     what Pods see
	//   lock     locked while a command binds or copies it
	//   token.N.CONTAINER  the only node that may have it mounted. N is counted up with each change,
	//            by a rename, which needs no space.
	prelude = `set -eu; v=` + node.VolumePath + `; b=` + node.BoundPath + `
grep -q " $v " /proc/self/mountinfo || exit 3
take() { exec 9>>"$1/lock" && flock --nonblock 9 || exit 5; }
expect() { [ -e "$1/token.$2" ] || exit 6; }
`
	// observe prints what is bound in the node, and what all processes in it have mounted of what
	// is bound: also those in containers, which have mounts of their own.
	observe = prelude + `for d in "$v"/*/; do
  [ -d "$d/data" ] || continue
  for t in "$d"token.*; do [ -e "$t" ] || t=token.; echo "directory $(basename "$d") ${t##*token.}"; done
done
set -f; set -- $(grep -m 1 " $v " /proc/self/mountinfo); set +f
of() { { grep -F " $3 $4/" || true; } | cut -d ' ' -f 4,5 | sort -u | sed "s|^$4/|$5 |"; }
of 1 2 "$3" "$4" bound </proc/self/mountinfo
cat /proc/[0-9]*/mountinfo 2>/dev/null | of 1 2 "$3" "$4" mount
`
	create = prelude + `d=$v/$1; t=$v/.new-$1; [ ! -d "$d" ] || exit 0
rm -rf -- "$t"; mkdir -m 0700 "$t"; mkdir "$t/data"; chmod 0777 "$t/data"; : >"$t/lock"; : >"$t/token.0."; mv -T "$t" "$d"
`
	copySource = prelude + `s=$v/$1; d=$v/$2; t=$v/.new-$2; [ ! -d "$d" ] || exit 0
[ -d "$s/data" ] || exit 4
expect "$s" "$3"; take "$s"; expect "$s" "$3"
trap 'rm -rf -- "$t"' EXIT
rm -rf -- "$t"; mkdir -m 0700 "$t"; cp -a "$s/data" "$t/data"; : >"$t/lock"; : >"$t/token.0."; mv -T "$t" "$d"
`
	revoke = prelude + `d=$v/$1; [ -d "$d/data" ] || exit 4
take "$d"; expect "$d" "$2"; mv "$d/token.$2" "$d/token.$3"
`
	bind = prelude + `d=$v/$1; [ -d "$d/data" ] || exit 4
take "$d"; expect "$d" "$2"; [ "$2" = "$3" ] || mv "$d/token.$2" "$d/token.$3"
mkdir -p -m 0700 "$b"; mkdir -p "$b/$1"; mountpoint -q "$b/$1" || mount --bind "$d" "$b/$1"
`
	unbind = prelude + `if mountpoint -q "$b/$1"; then umount "$b/$1"; fi
`
	removeDirectory = prelude + `d=$v/$1; t=$v/.removed-$1
if [ -d "$d" ]; then take "$d"; expect "$d" "$2"; mv -T "$d" "$t"; fi
rm -rf -- "$t"
`
)

// Token of a PersistentVolume: the container that may have it mounted, and how often it changed.
// A command that was decided on with an earlier one does nothing.
type Token struct {
	Number int
	// Container is the ID of the container; empty = none ever had it mounted.
	Container string
}

// String is the end of the file's name.
func (t Token) String() string { return fmt.Sprintf("%d.%s", t.Number, t.Container) }

// next token for the same container or another one.
func (t Token) next(container string) Token { return Token{Number: t.Number + 1, Container: container} }

// Mounts of one node.
type Mounts struct {
	// Bound are the names of PersistentVolumes that kubelet can mount.
	Bound map[string]bool
	// Used are those that Pods have mounted, with where.
	Used map[string]string
}

// Observation of a node.
type Observation struct {
	Mounts
	// Directories of the volume with their tokens.
	Directories map[string]Token
}

// Observe what a node has mounted, and which directories there are.
func Observe(ctx context.Context, e engine.Executor, container string) (Observation, error) {
	output, err := run(ctx, e, container, script{OperationObserve, observe})
	if err != nil {
		return Observation{}, err
	}
	return parse(output), nil
}

func parse(output string) Observation {
	o := Observation{Mounts: Mounts{Bound: map[string]bool{}, Used: map[string]string{}}, Directories: map[string]Token{}}
	for line := range strings.Lines(output) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		first, second, _ := strings.Cut(rest, " ")
		switch kind {
		case "directory":
			number, holder, _ := strings.Cut(second, ".")
			// Without a token, the directory is not one that a PersistentVolume can have.
			if count, err := strconv.Atoi(number); err == nil {
				o.Directories[first] = Token{Number: count, Container: holder}
			}
		case "bound":
			if second == path.Join(node.BoundPath, first) {
				o.Bound[first] = true
			}
		case "mount":
			if volume, below, isBelow := strings.Cut(first, "/"); isBelow && below != "" {
				o.Used[volume] = second
			}
		}
	}
	return o
}

// Create the directory of a PersistentVolume, which succeeds if it exists.
func Create(ctx context.Context, e engine.Executor, container, volume string) error {
	_, err := run(ctx, e, container, script{OperationCreate, create}, volume)
	return err
}

// Copy the directory of a PersistentVolume that is mounted nowhere to another one, which succeeds
// if that exists. If ctx ends, the command continues; a repetition says ErrBusy until it has ended.
func Copy(ctx context.Context, e engine.Executor, source Released, volume string) error {
	_, err := run(ctx, e, source.Container, script{OperationCopy, copySource}, source.Volume, volume, source.Token.String())
	return err
}

// Revoke the token of a PersistentVolume: commands that were decided on with it do nothing from now
// on. The container of the token remains, because it may have the PersistentVolume mounted.
func Revoke(ctx context.Context, e engine.Executor, container, volume string, token Token) (Token, error) {
	fresh := token.next(token.Container)
	_, err := run(ctx, e, container, script{OperationRevoke, revoke}, volume, token.String(), fresh.String())
	return fresh, err
}

// Change of a token.
type Change struct{ Old, New Token }

// For the container with this ID, which has the PersistentVolume then.
func (t Token) For(container string) Change {
	if t.Container == container {
		return Change{t, t}
	}
	return Change{t, t.next(container)}
}

// Shared by all nodes, of which none has the token.
func (t Token) Shared() Change { return Change{t, t} }

// Bind a PersistentVolume into a node, and change the token.
func Bind(ctx context.Context, e engine.Executor, container, volume string, change Change) error {
	_, err := run(ctx, e, container, script{OperationBind, bind}, volume, change.Old.String(), change.New.String())
	return err
}

// Unbind a PersistentVolume, which succeeds if it is not bound. What Pods have mounted remains.
func Unbind(ctx context.Context, e engine.Executor, container, volume string) error {
	_, err := run(ctx, e, container, script{OperationUnbind, unbind}, volume)
	return err
}

// RemoveDirectory of a PersistentVolume with its data, which succeeds if it does not exist.
func RemoveDirectory(ctx context.Context, e engine.Executor, container, volume string, token Token) error {
	_, err := run(ctx, e, container, script{OperationRemove, removeDirectory}, volume, token.String())
	return err
}

// script with the name of its operation.
type script struct{ operation, text string }

func run(ctx context.Context, e engine.Executor, container string, script script, arguments ...string) (string, error) {
	operation := script.operation
	output, err := e.Exec(ctx, container, engine.Command{Args: slices.Concat([]string{"sh", "-c", script.text, operation}, arguments)})
	if exit := new(engine.ExitError); errors.As(err, &exit) {
		if known := exits[exit.Code]; known != nil {
			return "", fmt.Errorf("%s in container %q: %w", operation, container, known)
		}
		return "", fmt.Errorf("%s in container %q: %w: %s", operation, container, err, strings.TrimSpace(string(output.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s in container %q: %w", operation, container, err)
	}
	return string(output.Stdout), nil
}

// Names of the directories, sorted.
func (o Observation) Names() []string { return slices.Sorted(maps.Keys(o.Directories)) }
