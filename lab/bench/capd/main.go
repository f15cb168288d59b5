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

// Command bench-capd compares this provider with CAPD, Cluster API's own
// provider for development: both with Cluster API's stock managers as processes
// on the same etcd and kube-apiserver, with the same images and the same engine,
// in turns. lab/bench/capd.sh builds what it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// bench is one run.
type bench struct {
	root, artifacts, work string
	// programs holds etcd and the parts of Kubernetes; managers the managers.
	programs, managers             string
	capiModule, capdModule         string
	capcon                         string
	nodeImage, loadBalancer        string
	capdLoadBalancer               string
	hostFiles                      string
	engineSocket                   string
	engineStop, engineStart        string
	rounds                         int
	parts                          string
	createLimit, deleteLimit       time.Duration
	faultLimit, restartLimit, idle time.Duration
	output                         string
	resume                         bool
	record
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctrl.SetLogger(logr.Discard())
	b := &bench{record: record{Results: results{}}}
	b.addFlags(flag.CommandLine)
	flag.Parse()
	err := b.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-capd:", err)
		os.Exit(1)
	}
}

func (b *bench) addFlags(set *flag.FlagSet) {
	set.StringVar(&b.root, "root", filepath.Join("..", ".."), "directory of the repository")
	set.StringVar(&b.programs, "programs", "", "directory of etcd, kube-apiserver and kube-controller-manager")
	set.StringVar(&b.managers, "managers", "", "directory of the managers: core, bootstrap, control-plane, capd")
	set.StringVar(&b.capiModule, "capi", "", "directory of the module sigs.k8s.io/cluster-api")
	set.StringVar(&b.capdModule, "capd", "", "directory of the module sigs.k8s.io/cluster-api/test")
	set.StringVar(&b.nodeImage, "node-image", "localhost/capcon/node:v1.36.3", "image of nodes")
	set.StringVar(&b.loadBalancer, "load-balancer-image", "localhost/capcon/haproxy:2.6", "image of this provider's load balancers")
	set.StringVar(&b.capdLoadBalancer, "capd-load-balancer-image", "localhost/capcon-bench/haproxy:2.6", "image of CAPD's load balancers: it must be called haproxy and start without a configuration")
	set.StringVar(&b.engineSocket, "engine-socket", "/var/run/docker.sock", "socket of the engine")
	set.IntVar(&b.rounds, "rounds", 3, "how many rounds")
	set.StringVar(&b.parts, "parts", "capd,container,capcon,small,large,faults", "providers to measure: capd, container, capcon; and parts: small (1 + 1), large (3 + 3), faults; or idle with providers")
	set.DurationVar(&b.createLimit, "create-limit", 10*time.Minute, "how long a cluster may take")
	set.DurationVar(&b.deleteLimit, "delete-limit", 3*time.Minute, "how long deleting may take")
	set.DurationVar(&b.faultLimit, "fault-limit", 75*time.Second, "after which a killed container was never noticed")
	set.DurationVar(&b.restartLimit, "restart-limit", 2*time.Minute, "after which a cluster did not survive the engine's restart")
	set.DurationVar(&b.idle, "idle", 5*time.Minute, "how long to look at an idle cluster")
	set.BoolVar(&b.resume, "continue", false, "continue with the figures of the last run, which was interrupted or measured other parts")
	set.StringVar(&b.output, "output", "", "file for the table; default: standard output only")
}

func (b *bench) has(part string) bool {
	for one := range strings.SplitSeq(b.parts, ",") {
		if one == part {
			return true
		}
	}
	return false
}

func (b *bench) prepare() error {
	var err error
	if b.root, err = filepath.Abs(b.root); err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	b.artifacts = filepath.Join(b.root, "_artifacts", "bench-capd")
	b.capcon = filepath.Join(b.root, "bin", "capcon")
	b.engineStop = filepath.Join(b.root, "lab", "engine", "docker-stop.sh")
	b.engineStart = filepath.Join(b.root, "lab", "engine", "docker.sh")
	b.hostFiles = filepath.Join(b.root, "lab", "bench", "capd", "clusters")
	if b.work, err = os.MkdirTemp("", "bench-capd-"); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	return nil
}

func (b *bench) run(ctx context.Context) error {
	if err := b.prepare(); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.work) }() // it only holds sockets and certificates
	if b.resume {
		if err := b.load(); err != nil {
			return err
		}
	}
	b.MeasuredAt = append(b.MeasuredAt, time.Now().UTC().Format(time.DateTime)+" UTC")
	if b.has("idle") {
		return b.runIdle(ctx)
	}
	first := len(b.Loads) + 1
	for round := first; round < first+b.rounds && ctx.Err() == nil; round++ {
		before := loadAverage()
		b.say("round %d begins, load average %s", round, before)
		var runs []func(context.Context) error
		for _, p := range []provider{capd(), container()} {
			if b.has(p.key) {
				runs = append(runs, func(ctx context.Context) error { return b.runProvider(ctx, p) })
			}
		}
		// The order changes, so that no provider always gets the warm caches.
		if round%2 == 0 {
			slices.Reverse(runs)
		}
		if b.has("capcon") {
			runs = append(runs, b.runCapcon)
		}
		for _, run := range runs {
			if err := run(ctx); err != nil {
				b.trouble("round %d: %v", round, err)
			}
		}
		b.Loads = append(b.Loads, fmt.Sprintf("%s → %s", before, loadAverage()))
		if err := b.report(ctx, b.Results.table("Seconds, unless said otherwise", metrics())); err != nil {
			return err
		}
	}
	if len(b.Troubles) > 0 {
		return errors.New("not everything could be measured; the report says what")
	}
	return ctx.Err()
}

func (b *bench) say(format string, arguments ...any) {
	fmt.Printf("%s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, arguments...))
}

// trouble goes into the report: it must not be forgotten that something failed.
func (b *bench) trouble(format string, arguments ...any) {
	b.Troubles = append(b.Troubles, fmt.Sprintf(format, arguments...))
	b.say("TROUBLE "+format, arguments...)
}
