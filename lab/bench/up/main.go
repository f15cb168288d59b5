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
// else the machine does falls on all of them. It writes the results as a page, as JSON and
// as a picture.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/hack/resultfile"
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
	var b bench
	flag.StringVar(&b.Engine, "engine", "docker", "docker or podman")
	flag.StringVar(&b.Commit, "commit", "", "commit that is measured")
	flag.StringVar(&b.Machine, "machine", "", "description of the machine")
	flag.StringVar(&b.image, "image", "", "node image")
	flag.StringVar(&b.kind, "kind", "", "path of kind")
	flag.StringVar(&b.kindConfig, "kind-config", "", "path of kind's configuration of one control plane and one worker")
	output := flag.String("output", "", "path of the results, without extension")
	rounds := flag.Int("rounds", 5, "how often each is measured") //nolint:mnd // Enough for a median and a spread.
	m := many{bench: &b}
	flag.IntVar(&m.Clusters, "clusters", 0, "measure a plane with so many clusters instead, and so many containers; 0 = do not")
	flag.IntVar(&m.Containers, "containers", 1000, "how many containers are listed") //nolint:mnd // More than any user has.
	flag.DurationVar(&m.rest, "rest", 10*time.Minute, "how long clusters rest before the plane's memory is read")
	flag.StringVar(&m.image, "container-image", "localhost/capcon/haproxy:2.6", "image of the containers that are listed")
	flag.Parse()
	if m.Clusters > 0 {
		return m.run(ctx, *output)
	}
	return b.run(ctx, *rounds, *output)
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
	Engine  string `json:"engine"`
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Machine string `json:"machine"`
	// Seconds of each row, by round.
	Seconds map[string][]float64 `json:"seconds"`
	// Waits are the seconds that one more run of each of capcon's rows waited, by what for.
	Waits map[string]map[string]float64 `json:"waits"`

	image, kind, kindConfig string
}

func rows() []string {
	return []string{floorUp, kindUp, capconUp, largeUp, kindDown, capcDown, largeDown}
}

func (b *bench) run(ctx context.Context, rounds int, output string) error {
	b.Date, b.Seconds, b.Waits = time.Now().Format(time.DateOnly), map[string][]float64{}, map[string]map[string]float64{}
	defer b.cleanUp(context.WithoutCancel(ctx))
	fmt.Println("Starting the management plane with a first cluster, which is not measured.")
	if err := errors.Join(b.capcon(ctx, "up", "1", "0"), b.capcon(ctx, "down")); err != nil {
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
	fmt.Print(b.waits())
	if output == "" {
		return nil
	}
	return errors.Join(
		resultfile.Write(output+".json", b),
		os.WriteFile(output+".md", []byte(b.page(output)), 0o644),
		os.WriteFile(output+".svg", []byte(b.picture()), 0o644),
	)
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
		b.timed(capconUp, func() error { return b.capcon(ctx, "up", "1", "1") }),
		b.timed(capcDown, func() error { return b.capcon(ctx, "down") }),
	)
}

func (b *bench) large(ctx context.Context) error {
	return errors.Join(
		b.timed(largeUp, func() error { return b.capcon(ctx, "up", "3", "3") }),
		b.timed(largeDown, func() error { return b.capcon(ctx, "down") }),
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
	if err := b.capcon(ctx, "up", machines, machines, "--trace", trace); err != nil {
		return err
	}
	if b.Waits[up], err = readWaits(trace); err != nil {
		return err
	}
	if err := b.capcon(ctx, "down", "--trace", trace); err != nil {
		return err
	}
	b.Waits[down], err = readWaits(trace)
	return err
}

// capcon creates a cluster of so many control planes and workers, or deletes it.
func (b *bench) capcon(ctx context.Context, verb string, args ...string) error {
	all := []string{verb, cluster, "--engine", b.Engine}
	if verb == "down" {
		all = append(all, "--keep-plane")
	} else {
		all = append(all, "--control-planes", args[0], "--workers", args[1])
		args = args[2:]
	}
	_, err := execute(b.command(ctx, "bin/capcon", append(all, args...)...))
	return err
}

func (b *bench) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "ENGINE="+b.Engine, "KIND_EXPERIMENTAL_PROVIDER="+b.Engine)
	return command
}

func execute(command *exec.Cmd) (output string, err error) {
	var all bytes.Buffer
	command.Stdout, command.Stderr = &all, &all
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, all.String())
	}
	return all.String(), nil
}

// spread of the seconds of a row.
func spread(seconds []float64) (lowest, median, highest float64) {
	sorted := slices.Sorted(slices.Values(seconds))
	last := len(sorted) - 1
	return sorted[0], (sorted[last/2] + sorted[len(sorted)/2]) / 2, sorted[last] //nolint:mnd // The mean of the two in the middle.
}
