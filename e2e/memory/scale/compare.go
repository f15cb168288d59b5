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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/templates"
)

// loopback is where all processes serve.
const loopback = "127.0.0.1"

// subject is a provider that is measured, with its manager for clusters in memory.
type subject struct {
	name    string
	manager managerSpec
	// class is a ClusterClass with its templates, className its name, and workers its class of MachineDeployments.
	class, className, workers string
	variables                 []clusterv1.ClusterVariable
}

// container is this provider.
func container(opts options) subject {
	off := func(name string) clusterv1.ClusterVariable {
		variable := clusterv1.ClusterVariable{Name: name}
		variable.Value.Raw = []byte(`{"type":"None"}`)
		return variable
	}
	return subject{
		name: "container", class: templates.ClusterClass, className: "container", workers: "worker",
		variables: []clusterv1.ClusterVariable{off("storage"), off("serviceLoadBalancer")},
		manager: managerSpec{
			config: filepath.Join(opts.root, "config", "default"), program: opts.manager,
			args: func(process managerProcess) []string {
				return []string{
					"--provider-alone", "--webhook-port=" + strconv.Itoa(process.webhookPort), "--webhook-cert-dir=" + process.certificates,
					"--health-address=0", "--metrics-address=" + process.metricsAt, "--feature-gates=ReconcilerRateLimiting=true",
				}
			},
		},
	}
}

// durations of Cluster API's ClusterClass for clusters in memory, and their jitter.
var durations = regexp.MustCompile(`(startup(?:Duration|Jitter)): "[^"]*"`)

// capd is Cluster API's provider for development, with its own ClusterClass, but that nothing takes time to start.
func capd(opts options) (subject, error) {
	directory := filepath.Join(opts.clusterAPITest, "infrastructure", "docker")
	class, err := os.ReadFile(filepath.Join(directory, "templates", "clusterclass-in-memory.yaml"))
	if err != nil {
		return subject{}, fmt.Errorf("read ClusterClass: %w", err)
	}
	return subject{
		name: "capd", class: durations.ReplaceAllString(string(class), `$1: "0"`), className: "in-memory", workers: "default-worker",
		manager: managerSpec{config: filepath.Join(directory, "config", "default"), program: filepath.Join(opts.stock, "capd"), args: stockArgs},
	}, nil
}

// compare measures both, one after the other, and prints what this provider costs as a part of what CAPD does.
func compare(ctx context.Context, opts options, out io.Writer) error {
	rival, err := capd(opts)
	if err != nil {
		return err
	}
	ours := container(opts)
	var results [2][]result
	for i, subject := range []subject{ours, rival} {
		_, _ = fmt.Fprintf(out, "%s:\n", subject.name)
		if results[i], err = measureStock(ctx, opts, subject, out); err != nil {
			return fmt.Errorf("measure %s: %w", subject.name, err)
		}
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprintln(out, ratioHeader)
	for i := range results[0] {
		_, _ = fmt.Fprintln(out, ratios(results[1][i], results[0][i], processName(rival.manager), processName(ours.manager)))
	}
	return nil
}

// measureStock measures one next to Cluster API's own managers.
func measureStock(ctx context.Context, opts options, subject subject, out io.Writer) (results []result, err error) {
	directory, err := os.MkdirTemp("", "capcon-scale-")
	if err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	defer func() {
		if err == nil { // or its logs are needed
			err = os.RemoveAll(directory)
		}
	}()
	s, ctx, err := startStock(ctx, opts, directory, append(stockManagers(opts), subject.manager)...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	b := &bench{opts: opts, subject: subject, parent: os.Getpid(), metrics: s.metrics, apiHost: strings.Trim(strings.TrimPrefix(s.config.Host, "https:"), "/"), out: out}
	if err := b.connect(ctx, s.config); err != nil {
		return nil, err
	}
	return b.run(ctx)
}

// result of a step.
type result struct {
	step string
	used observation
}

const ratioHeader = "container / capd  processor of the manager  its memory  without its program  processor of all"

// ratios of what this provider has used to what CAPD has, by the names of their managers.
func ratios(rival, ours result, rivalManager, ourManager string) string {
	memory := func(of func(observation) map[string]int64) float64 {
		return float64(of(ours.used)[ourManager]) / float64(of(rival.used)[rivalManager])
	}
	return fmt.Sprintf("%-16s %25.2f %11.2f %20.2f %17.2f", ours.step,
		ours.used.processor[ourManager].Seconds()/rival.used.processor[rivalManager].Seconds(),
		memory(func(o observation) map[string]int64 { return o.memory }),
		memory(func(o observation) map[string]int64 { return o.anonymous }),
		ours.used.all().Seconds()/rival.used.all().Seconds())
}

// processName is what Linux calls the process of a program.
func processName(manager managerSpec) string {
	const limit = 15
	name := filepath.Base(manager.program)
	return name[:min(limit, len(name))]
}
