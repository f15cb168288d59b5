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
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ticks of processor time that Linux counts in a second.
const ticks = 100

// observation is what was used until now.
type observation struct {
	at time.Time
	// apiHost is the address of the API server of the plane.
	apiHost string
	// processor time of each process, the memory that it has now, and that without its program and other files.
	processor         map[string]time.Duration
	memory, anonymous map[string]int64
	// requests of the managers to the API server of the plane and to those of clusters, and
	// those that write in the plane.
	plane, clusters, writes float64
	reconciles              float64
}

// The metrics of a manager.
const (
	requestsMetric   = "rest_client_requests_total"
	reconcilesMetric = "controller_runtime_reconcile_total"
)

func (b *bench) observe(ctx context.Context) (observation, error) {
	o := observation{at: time.Now(), apiHost: b.apiHost, processor: map[string]time.Duration{}, memory: map[string]int64{}, anonymous: map[string]int64{}}
	children, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return o, fmt.Errorf("list processes: %w", err)
	}
	for _, file := range children {
		o.process(file, b.parent)
	}
	for _, address := range b.metrics {
		if err := o.manager(ctx, address); err != nil {
			return o, fmt.Errorf("get metrics of a manager: %w", err)
		}
	}
	return o, nil
}

// manager adds what its metrics say.
func (o *observation) manager(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		o.metric(lines.Text())
	}
	return lines.Err()
}

// process adds one that the plane has started; others, and those that have ended, are left out.
func (o *observation) process(file string, parent int) {
	content, err := os.ReadFile(file)
	if err != nil {
		return
	}
	// The name is in parentheses and may have spaces.
	open, end := strings.IndexByte(string(content), '('), strings.LastIndexByte(string(content), ')')
	fields := strings.Fields(string(content[end+1:]))
	const ppid, user, system = 1, 11, 12
	if len(fields) <= system || fields[ppid] != strconv.Itoa(parent) {
		return
	}
	name := string(content[open+1 : end])
	for _, field := range []int{user, system} {
		used, _ := strconv.Atoi(fields[field]) // it is a number
		o.processor[name] += time.Duration(used) * time.Second / ticks
	}
	status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(words[1], 10, 64)
		switch words[0] {
		case "VmRSS:":
			o.memory[name] = kilobytes << 10
		case "RssAnon:":
			o.anonymous[name] = kilobytes << 10
		}
	}
}

func (o *observation) metric(line string) {
	name, rest, found := strings.Cut(line, "{")
	labels, text, ended := strings.Cut(rest, "} ")
	value, err := strconv.ParseFloat(text, 64)
	if !found || !ended || err != nil {
		return
	}
	switch {
	case name == reconcilesMetric:
		o.reconciles += value
	case name != requestsMetric:
	case !strings.Contains(labels, `host="`+o.apiHost+`"`):
		o.clusters += value
	default:
		o.plane += value
		if !strings.Contains(labels, `method="GET"`) {
			o.writes += value
		}
	}
}

// since is what was used after another observation; memory is that of now.
func (o observation) since(before observation) observation {
	o.at = time.Time{}.Add(o.at.Sub(before.at))
	processor := map[string]time.Duration{}
	for name, used := range o.processor {
		processor[name] = used - before.processor[name]
	}
	o.processor = processor
	o.plane, o.clusters, o.writes, o.reconciles = o.plane-before.plane, o.clusters-before.clusters, o.writes-before.writes, o.reconciles-before.reconciles
	return o
}

// all is the processor time of all processes.
func (o observation) all() time.Duration {
	var sum time.Duration
	for _, used := range o.processor {
		sum += used
	}
	return sum
}

const header = "step            seconds   requests   (each)     writes   (each)  to clusters  reconciles   (each)  processor seconds (of a cluster), MiB of each process"

// row of a step; "each" is by Cluster and Machine.
func (o observation) row(step string, clusters, objects int) string {
	var processes []string
	for _, name := range slices.Sorted(maps.Keys(o.processor)) {
		used := o.processor[name].Seconds()
		processes = append(processes, fmt.Sprintf("%s %.1f (%.2f), %d", name, used, used/float64(clusters), o.memory[name]>>20))
	}
	each := func(count float64) float64 { return count / float64(objects) }
	return fmt.Sprintf("%-14s %8.1f %10.0f %8.1f %10.0f %8.1f %12.0f %11.0f %8.1f  %s", step, o.at.Sub(time.Time{}).Seconds(),
		o.plane, each(o.plane), o.writes, each(o.writes), o.clusters, o.reconciles, each(o.reconciles), strings.Join(processes, "; "))
}
