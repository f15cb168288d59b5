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

// Command bench measures how long clusters take: made by hand, which is the floor, by
// kind, and by capcon with its management plane running. They take turns, so that what
// else the machine does falls on all of them. It prints tables, and writes the figures of each
// round as JSON.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := bench{setting: setting{Date: time.Now().Format(time.DateOnly)}}
	flag.StringVar(&b.Engine, "engine", "docker", "docker or podman")
	flag.StringVar(&b.Commit, "commit", "", "commit that is measured")
	flag.StringVar(&b.Machine, "machine", "", "description of the machine")
	flag.StringVar(&b.output, "output", "", "path of the results")
	flag.StringVar(&b.image, "image", "", "node image")
	flag.StringVar(&b.kind, "kind", "", "path of kind")
	flag.StringVar(&b.kindConfig, "kind-config", "", "path of kind's configuration of one control plane and one worker")
	flag.IntVar(&b.Rounds, "rounds", 5, "how often each is measured") //nolint:mnd // Enough for a median and a spread.
	var m many
	flag.IntVar(&m.clusters, "clusters", 0, "measure a plane with so many clusters instead; 0 = do not")
	flag.DurationVar(&m.rest, "rest", 10*time.Minute, "how long clusters rest before the plane's memory is read")
	flag.Parse()
	if m.clusters > 0 {
		m.setting = b.setting
		m.Rounds = 1
		return m.run(ctx)
	}
	return b.run(ctx)
}

// The rows of the results.
const (
	floorUp      = "floor 1 + 1"
	largeFloorUp = "floor 3 + 3"
	kindUp       = "kind create 1 + 1"
	capconUp     = "capcon up 1 + 1"
	largeUp      = "capcon up 3 + 3"
	kindDown     = "kind delete 1 + 1"
	capcDown     = "capcon down 1 + 1"
	largeDown    = "capcon down 3 + 3"
)

// cluster of all but the floor, and the plane.
const (
	cluster = "capcon-bench"
	plane   = "capcon-plane"
)

// bench is a run.
type bench struct {
	setting

	image, kind, kindConfig string
}

func (b *bench) run(ctx context.Context) error {
	defer b.cleanUp(context.WithoutCancel(ctx))
	fmt.Println("Starting the management plane with a first cluster, which is not measured.")
	if err := errors.Join(b.up(ctx, "1", "0"), b.down(ctx)); err != nil {
		return err
	}
	for round := range b.Rounds {
		for _, measured := range []func(context.Context) error{b.floors, b.ofKind, b.small, b.large} {
			if err := measured(ctx); err != nil {
				return err
			}
		}
		b.compare()
		fmt.Printf("round %d of %d:\n%s", round+1, b.Rounds, b.text())
	}
	if err := errors.Join(b.traced(ctx, capconUp, capcDown, "1"), b.traced(ctx, largeUp, largeDown, "3")); err != nil {
		return err
	}
	fmt.Print("\n" + b.text())
	return b.write()
}

// compare the figures of the last round.
func (b *bench) compare() {
	for _, pair := range [][2]string{{capconUp, kindUp}, {capconUp, floorUp}, {largeUp, largeFloorUp}, {capcDown, kindDown}} {
		ours, theirs := b.rounds(seconds, pair[0]), b.rounds(seconds, pair[1])
		b.add(ratio, pair[0]+" ÷ "+pair[1], ours[len(ours)-1]/theirs[len(theirs)-1])
	}
}

// cleanUp what an interrupted run left.
func (b *bench) cleanUp(ctx context.Context) {
	_ = b.command(ctx, "lab/bench/floor.sh", "--clean").Run()
	_ = b.command(ctx, b.kind, "delete", "cluster", "--name", cluster).Run()
	_ = b.command(ctx, "bin/capcon", "down", cluster, "--engine", b.Engine).Run()
}

// timed measures f, if it succeeds, and what the plane does meanwhile for capcon.
func (b *bench) timed(ctx context.Context, row string, f func() error) error {
	before, err := b.processor(ctx, plane)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", row, err)
	}
	b.add(seconds, row, time.Since(start).Seconds())
	after, err := b.processor(ctx, plane)
	if strings.HasPrefix(row, "capcon") {
		b.add(processors, row+": plane", after-before)
	}
	return err
}

// used adds what the containers of a cluster used so far.
func (b *bench) used(ctx context.Context, row, containers string) error {
	used, err := b.processor(ctx, containers)
	if err == nil {
		b.add(processors, row+": nodes", used)
	}
	return err
}

func (b *bench) floors(ctx context.Context) error {
	return errors.Join(b.floor(ctx, floorUp, "1"), b.floor(ctx, largeFloorUp, "3"))
}

// floor measures itself: what comes before its first container is not part of it.
func (b *bench) floor(ctx context.Context, row, machines string) error {
	command := b.command(ctx, "lab/bench/floor.sh", "--keep")
	command.Env = append(command.Env, "CONTROL_PLANES="+machines, "WORKERS="+machines)
	output, err := execute(command)
	if err != nil {
		return err
	}
	for line := range strings.Lines(output) {
		before, _, found := strings.Cut(line, " s  total: ")
		if !found {
			continue
		}
		total, err := strconv.ParseFloat(strings.TrimSpace(before), 64)
		b.add(seconds, row, total)
		err = errors.Join(err, b.used(ctx, row, "capcon-floor-"))
		_, cleanErr := execute(b.command(ctx, "lab/bench/floor.sh", "--clean"))
		return errors.Join(err, cleanErr)
	}
	return fmt.Errorf("%s prints no total: %s", row, output)
}

func (b *bench) ofKind(ctx context.Context) error {
	return errors.Join(
		b.timed(ctx, kindUp, func() error {
			_, err := execute(b.command(ctx, b.kind, "create", "cluster", "--name", cluster, "--image", b.image, "--config", b.kindConfig,
				"--kubeconfig", os.DevNull, "--wait", "2m"))
			if err == nil {
				_, err = execute(b.command(ctx, b.Engine, "exec", cluster+"-control-plane",
					"kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=2m"))
			}
			return err
		}),
		b.used(ctx, kindUp, cluster),
		b.timed(ctx, kindDown, func() error {
			_, err := execute(b.command(ctx, b.kind, "delete", "cluster", "--name", cluster, "--kubeconfig", os.DevNull))
			return err
		}),
	)
}

func (b *bench) small(ctx context.Context) error { return b.pair(ctx, capconUp, capcDown, "1") }

func (b *bench) large(ctx context.Context) error { return b.pair(ctx, largeUp, largeDown, "3") }

func (b *bench) pair(ctx context.Context, up, down, machines string) error {
	return errors.Join(
		b.timed(ctx, up, func() error { return b.up(ctx, machines, machines) }),
		b.used(ctx, up, cluster),
		b.timed(ctx, down, func() error { return b.down(ctx) }),
	)
}

// traced runs both commands once more, and records what they wait for.
func (b *bench) traced(ctx context.Context, up, down, machines string) error {
	directory, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return fmt.Errorf("create directory of traces: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }() // It only has traces.
	trace := filepath.Join(directory, "trace.json")
	if err := b.up(ctx, machines, machines, "--trace", trace); err != nil {
		return err
	}
	if err := b.waited(up, trace); err != nil {
		return err
	}
	if err := b.down(ctx, "--trace", trace); err != nil {
		return err
	}
	return b.waited(down, trace)
}

func (b *bench) waited(row, trace string) error {
	waits, err := readWaits(trace)
	for _, owner := range owners() {
		b.add(waited, row+": "+owner, waits[owner])
	}
	return err
}

func (b *bench) up(ctx context.Context, controlPlanes, workers string, args ...string) error {
	return b.capcon(ctx, append([]string{"up", cluster, "--control-planes", controlPlanes, "--workers", workers}, args...)...)
}

func (b *bench) down(ctx context.Context, args ...string) error {
	return b.capcon(ctx, append([]string{"down", cluster, "--keep-plane"}, args...)...)
}
