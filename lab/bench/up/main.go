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
	b := bench{setting: setting{Date: time.Now().Format(time.DateOnly)}, Seconds: map[string][]float64{}, Waits: map[string]map[string]float64{}}
	flag.StringVar(&b.Engine, "engine", "docker", "docker or podman")
	flag.StringVar(&b.Commit, "commit", "", "commit that is measured")
	flag.StringVar(&b.Machine, "machine", "", "description of the machine")
	flag.StringVar(&b.output, "output", "", "path of the results")
	flag.StringVar(&b.image, "image", "", "node image")
	flag.StringVar(&b.kind, "kind", "", "path of kind")
	flag.StringVar(&b.kindConfig, "kind-config", "", "path of kind's configuration of one control plane and one worker")
	rounds := flag.Int("rounds", 5, "how often each is measured") //nolint:mnd // Enough for a median and a spread.
	var m many
	flag.IntVar(&m.Clusters, "clusters", 0, "measure a plane with so many clusters instead; 0 = do not")
	flag.DurationVar(&m.Rest, "rest", 10*time.Minute, "how long clusters rest before the plane's memory is read")
	flag.Parse()
	if m.Clusters > 0 {
		m.setting = b.setting
		return m.run(ctx)
	}
	return b.run(ctx, *rounds)
}

// The rows of the results, in their order.
const (
	floorUp   = "floor 1 + 1"
	kindUp    = "kind create 1 + 1"
	capconUp  = "capcon up 1 + 1"
	largeUp   = "capcon up 3 + 3"
	kindDown  = "kind delete 1 + 1"
	capcDown  = "capcon down 1 + 1"
	largeDown = "capcon down 3 + 3"
)

// cluster of all but the floor.
const cluster = "capcon-bench"

// bench is a run and its results.
type bench struct {
	setting
	// Seconds of each row, by round.
	Seconds map[string][]float64 `json:"seconds"`
	// Waits are the seconds that one more run of each of capcon's rows waited, by what for.
	Waits map[string]map[string]float64 `json:"waits"`

	image, kind, kindConfig string
}

func rows() []string {
	return []string{floorUp, kindUp, capconUp, largeUp, kindDown, capcDown, largeDown}
}

func (b *bench) run(ctx context.Context, rounds int) error {
	defer b.cleanUp(context.WithoutCancel(ctx))
	fmt.Println("Starting the management plane with a first cluster, which is not measured.")
	if err := errors.Join(b.up(ctx, "1", "0"), b.down(ctx)); err != nil {
		return err
	}
	for round := range rounds {
		for _, measured := range []func(context.Context) error{b.floor, b.ofKind, b.small, b.large} {
			if err := measured(ctx); err != nil {
				return err
			}
		}
		fmt.Printf("round %d of %d:\n%s", round+1, rounds, b.table())
	}
	if err := errors.Join(b.traced(ctx, capconUp, capcDown, "1"), b.traced(ctx, largeUp, largeDown, "3")); err != nil {
		return err
	}
	fmt.Print("\n" + b.waits())
	return b.write(b)
}

// cleanUp what an interrupted run left.
func (b *bench) cleanUp(ctx context.Context) {
	_ = b.command(ctx, b.kind, "delete", "cluster", "--name", cluster).Run()
	_ = b.command(ctx, "bin/capcon", "down", cluster, "--engine", b.Engine).Run()
}

// timed measures f, if it succeeds.
func (b *bench) timed(row string, f func() error) error {
	began := time.Now()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", row, err)
	}
	b.Seconds[row] = append(b.Seconds[row], time.Since(began).Seconds())
	return nil
}

// floor measures itself: what comes before its first container is not part of it.
func (b *bench) floor(ctx context.Context) error {
	output, err := execute(b.command(ctx, "lab/bench/floor.sh"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(output) {
		if strings.Contains(line, "total: 1 + 1 all Ready") {
			seconds, err := strconv.ParseFloat(strings.Fields(line)[0], 64)
			b.Seconds[floorUp] = append(b.Seconds[floorUp], seconds)
			return err
		}
	}
	return fmt.Errorf("%s prints no total: %s", floorUp, output)
}

func (b *bench) ofKind(ctx context.Context) error {
	return errors.Join(
		b.timed(kindUp, func() error {
			_, err := execute(b.command(ctx, b.kind, "create", "cluster", "--name", cluster, "--image", b.image, "--config", b.kindConfig,
				"--kubeconfig", os.DevNull, "--wait", "2m"))
			if err == nil {
				_, err = execute(b.command(ctx, b.Engine, "exec", cluster+"-control-plane",
					"kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=2m"))
			}
			return err
		}),
		b.timed(kindDown, func() error {
			_, err := execute(b.command(ctx, b.kind, "delete", "cluster", "--name", cluster, "--kubeconfig", os.DevNull))
			return err
		}),
	)
}

func (b *bench) small(ctx context.Context) error {
	return errors.Join(
		b.timed(capconUp, func() error { return b.up(ctx, "1", "1") }),
		b.timed(capcDown, func() error { return b.down(ctx) }),
	)
}

func (b *bench) large(ctx context.Context) error {
	return errors.Join(
		b.timed(largeUp, func() error { return b.up(ctx, "3", "3") }),
		b.timed(largeDown, func() error { return b.down(ctx) }),
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
	if b.Waits[up], err = readWaits(trace); err != nil {
		return err
	}
	if err := b.down(ctx, "--trace", trace); err != nil {
		return err
	}
	b.Waits[down], err = readWaits(trace)
	return err
}

func (b *bench) up(ctx context.Context, controlPlanes, workers string, args ...string) error {
	return b.capcon(ctx, append([]string{"up", cluster, "--control-planes", controlPlanes, "--workers", workers}, args...)...)
}

func (b *bench) down(ctx context.Context, args ...string) error {
	return b.capcon(ctx, append([]string{"down", cluster, "--keep-plane"}, args...)...)
}
