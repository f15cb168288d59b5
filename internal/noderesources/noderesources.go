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

// Package noderesources changes the limits of nodes that run: those of the container, by the engine, and
// what the kubelet reserves of the host, so that the scheduler counts with them. Both are read from the
// node: an engine may have forgotten an update, and a manager may have ended between the two.
package noderesources

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

var (
	//go:embed observe.sh
	observeScript string
	//go:embed reserve.sh
	reserveScript string
)

// Engine is what is needed of a container engine.
type Engine interface {
	engine.Executor
	UpdateResources(ctx context.Context, name string, resources engine.Resources) error
}

// Observed is what a running node has.
type Observed struct {
	// Limits of the container; zero = none.
	Limits node.Resources
	// UsedBytes of memory, without files that the kernel can drop.
	UsedBytes int64
	// Reserved are the kubelet's flags for it.
	Reserved []string
}

// InUseError says that a node uses more memory than it is to have.
type InUseError struct {
	// RequestedBytes of memory, and those in use.
	RequestedBytes, UsedBytes int64
}

// Error implements error.
func (e *InUseError) Error() string {
	const mebibyte = 1 << 20
	return fmt.Sprintf("memory is %dMi, but the node uses %dMi; delete Pods of the node, or use more", e.RequestedBytes/mebibyte, (e.UsedBytes+mebibyte-1)/mebibyte)
}

// Change of a node.
type Change struct {
	// Limits that the engine is to change; zero = none.
	Limits engine.Resources
	// Reserve says that the kubelet is to be restarted with Reserved.
	Reserve  bool
	Reserved []string
	// shrinks: the kubelet learns of it before the engine enforces it, and Pods are not
	// scheduled onto what is removed.
	shrinks bool
}

// IsEmpty reports whether nothing is to be changed.
func (c Change) IsEmpty() bool { return c.Limits == (engine.Resources{}) && !c.Reserve }

// Plan the change of a node on a host from what it has to what it is to have; zero leaves a limit as it is.
// An *InUseError says that it cannot be.
func Plan(wanted node.Resources, host node.Host, has Observed) (Change, error) {
	var change Change
	if wanted.MemoryBytes != 0 && wanted.MemoryBytes != has.Limits.MemoryBytes {
		if wanted.MemoryBytes < has.UsedBytes {
			return Change{}, &InUseError{RequestedBytes: wanted.MemoryBytes, UsedBytes: has.UsedBytes}
		}
		change.Limits.MemoryBytes = wanted.MemoryBytes
		change.shrinks = has.Limits.MemoryBytes == 0 || wanted.MemoryBytes < has.Limits.MemoryBytes
	}
	if wanted.MilliCPU != 0 && wanted.MilliCPU != has.Limits.MilliCPU {
		change.Limits.MilliCPU = wanted.MilliCPU
		change.shrinks = change.shrinks || has.Limits.MilliCPU == 0 || wanted.MilliCPU < has.Limits.MilliCPU
	}
	if wanted.Pids != 0 && wanted.Pids != has.Limits.Pids {
		change.Limits.Pids = wanted.Pids
	}
	// The container keeps what is not wanted.
	change.Reserved = node.Resources{
		MilliCPU: cmp.Or(wanted.MilliCPU, has.Limits.MilliCPU), MemoryBytes: cmp.Or(wanted.MemoryBytes, has.Limits.MemoryBytes),
	}.Reserved(host)
	change.Reserve = !slices.Equal(change.Reserved, has.Reserved)
	return change, nil
}

// Apply the change. Each part can be repeated.
func Apply(ctx context.Context, to Engine, container string, change Change) error {
	steps := []func(context.Context, Engine, string, Change) error{limit, reserve}
	if change.shrinks {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(ctx, to, container, change); err != nil {
			return err
		}
	}
	return nil
}

func limit(ctx context.Context, to Engine, container string, change Change) error {
	if change.Limits == (engine.Resources{}) {
		return nil
	}
	if err := to.UpdateResources(ctx, container, change.Limits); err != nil {
		return fmt.Errorf("change the limits of the container: %w", err)
	}
	return nil
}

func reserve(ctx context.Context, to Engine, container string, change Change) error {
	if !change.Reserve {
		return nil
	}
	command := engine.Command{
		Args:  append([]string{"sh", "-c", reserveScript, "reserve"}, change.Reserved...),
		Stdin: bytes.NewReader(script.Kubelet()),
	}
	if output, err := to.Exec(ctx, container, command); err != nil {
		return fmt.Errorf("restart the kubelet with other reservations: %w: %s", err, strings.TrimSpace(string(output.Stderr)))
	}
	return nil
}

// Observe a running node.
func Observe(ctx context.Context, from engine.Executor, container string) (Observed, error) {
	output, err := from.Exec(ctx, container, engine.Command{Args: []string{"sh", "-c", observeScript}})
	if err != nil {
		return Observed{}, fmt.Errorf("read the limits of the node: %w", err)
	}
	return parse(string(output.Stdout))
}

// parse what the script prints.
func parse(text string) (Observed, error) {
	var has Observed
	var cache int64
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		var err error
		switch name {
		case "memory":
			has.Limits.MemoryBytes, err = number(value)
		case "used":
			has.UsedBytes, err = number(value)
		case "cache":
			cache, err = number(value)
		case "pids":
			has.Limits.Pids, err = number(value)
		case "cpu":
			has.Limits.MilliCPU, err = milliCPU(value)
		case "reserved":
			has.Reserved = append(has.Reserved, value)
		}
		if err != nil {
			return Observed{}, fmt.Errorf("read the limits of the node: %q: %w", line, err)
		}
	}
	has.UsedBytes = max(has.UsedBytes-cache, 0)
	return has, nil
}

// unbounded is what cgroup v1 has at least where memory is not limited: the largest number of whole
// pages, of any size.
const unbounded = 1 << 62

// number of a file of a cgroup; 0 = no limit.
func number(text string) (int64, error) {
	if text == "max" || strings.HasPrefix(text, "-") {
		return 0, nil
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if value >= unbounded {
		return 0, nil
	}
	return value, err //nolint:wrapcheck // the caller says what was read
}

// milliCPU of quota and period.
func milliCPU(text string) (int64, error) {
	first, second, _ := strings.Cut(text, " ")
	quota, err := number(first)
	if err != nil || quota == 0 {
		return 0, err
	}
	period, err := number(second)
	if err != nil || period == 0 {
		return 0, err
	}
	return quota * 1000 / period, nil
}
