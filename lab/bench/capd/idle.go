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
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settle is how long after the last milestone nothing is expected to happen
// any more: longer than Cluster API's own waits of 30 seconds.
const settle = time.Minute

// The rows of the table of an idle cluster.
const (
	idleCalls      = "engine calls per minute"
	idleReconciles = "reconciles per minute of the provider's controllers"
	idleTime       = "processor time of the manager, ms per minute"
	idleResident   = "resident memory of the manager, MB"
	idleWritten    = "objects written, of the provider and of Cluster API"
	planeResident  = "resident memory of the plane's %s, MB"
	planeTime      = "processor time of the plane's %s, ms per minute"
	nodeMemory     = "memory of a %s without page cache, MB"
	nodeTime       = "processor time of a %s, thousandths of a core"
	controlPlane   = "control plane"
	worker         = "worker"
)

func planePrograms() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "manager", "daemon"}
}

func idleRows() []string {
	rows := []string{idleCalls, idleReconciles, idleWritten, idleTime, idleResident}
	for _, name := range planePrograms() {
		rows = append(rows, fmt.Sprintf(planeResident, name), fmt.Sprintf(planeTime, name))
	}
	for _, role := range []string{controlPlane, worker} {
		rows = append(rows, fmt.Sprintf(nodeMemory, role), fmt.Sprintf(nodeTime, role))
	}
	return rows
}

// runIdle looks at a cluster of one control plane and one worker in which
// nothing happens.
func (b *bench) runIdle(ctx context.Context) error {
	before := loadAverage()
	for _, p := range []provider{capd(), container()} {
		if !b.has(p.key) {
			continue
		}
		if err := b.idleProvider(ctx, p); err != nil {
			b.trouble("%s: %v", p.title, err)
		}
	}
	if b.has("capcon") {
		if err := b.idleCapcon(ctx); err != nil {
			b.trouble("%s: %v", capconColumn, err)
		}
	}
	b.Loads = append(b.Loads, before+" → "+loadAverage())
	return b.report(ctx, b.Results.table("Idle, "+shapes()[0].String(), idleRows()))
}

func (b *bench) idleProvider(ctx context.Context, p provider) (err error) {
	m, err := b.startManagement(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	if err := m.prepare(ctx); err != nil {
		return err
	}
	c, _, err := b.create(ctx, m, p.key+"-idle", shapes()[0])
	if c == nil {
		return err
	}
	defer func() {
		_, deleteErr := c.delete(ctx)
		err = errors.Join(err, deleteErr)
	}()
	if err := errors.Join(err, sleep(ctx, settle)); err != nil {
		return err
	}
	look := func() (map[string]float64, error) {
		used, err := m.manager.usage()
		if err != nil {
			return nil, err
		}
		reconciles, err := m.reconciles(ctx)
		return map[string]float64{
			idleCalls: float64(total(m.engine.calls())), idleReconciles: reconciles, idleTime: float64(used.cpu.Milliseconds()),
		}, err
	}
	calls := m.engine.calls()
	versions, err := m.versions(ctx, p)
	if err != nil {
		return err
	}
	if err := b.perMinute(ctx, p.title, look, p.clusterLabel+"="+c.name); err != nil {
		return err
	}
	b.Breakdowns = append(b.Breakdowns, fmt.Sprintf("%s, idle: %s", p.title, breakdown(difference(calls, m.engine.calls()))))
	after, err := m.versions(ctx, p)
	if err != nil {
		return err
	}
	b.Results.add(idleWritten, p.title, number(float64(len(changed(versions, after)))))
	for _, name := range changed(versions, after) {
		b.trouble("%s: %s was written though nothing happened", p.title, name)
	}
	used, err := m.manager.usage()
	b.Results.add(idleResident, p.title, number(float64(used.resident)/1e6))
	return err
}

// versions of all objects that make up clusters, by kind and name.
func (m *management) versions(ctx context.Context, p provider) (map[string]string, error) {
	found := map[string]string{}
	for _, object := range managementKinds(p) {
		kind, err := m.api.GroupVersionKindFor(object)
		if err != nil {
			return nil, fmt.Errorf("name kind of %T: %w", object, err)
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := m.api.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			found[kind.Kind+" "+object.Namespace+"/"+object.Name] = object.ResourceVersion
		}
	}
	return found, nil
}

// changed names what is not as before, made and deleted objects too.
func changed(before, after map[string]string) []string {
	var names []string
	for name := range after {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (b *bench) idleCapcon(ctx context.Context) error {
	const name = "bench-idle"
	defer func() { _, _ = command(context.WithoutCancel(ctx), b.capcon, "down", "--all") }()
	if _, err := b.capconUp(ctx, name, shapes()[0]); err != nil {
		return err
	}
	if err := sleep(ctx, settle); err != nil {
		return err
	}
	processes, err := planeProcesses(ctx)
	if err != nil {
		return err
	}
	look := func() (map[string]float64, error) {
		now := map[string]float64{}
		for program, pid := range processes {
			used, err := usageOf(pid)
			if err != nil {
				return nil, err
			}
			now[fmt.Sprintf(planeTime, program)] = float64(used.cpu.Milliseconds())
		}
		return now, nil
	}
	if err := b.perMinute(ctx, capconColumn, look, container().clusterLabel+"="+name); err != nil {
		return err
	}
	for program, pid := range processes {
		used, err := usageOf(pid)
		if err != nil {
			return err
		}
		b.Results.add(fmt.Sprintf(planeResident, program), capconColumn, number(float64(used.resident)/1e6))
	}
	return nil
}

// planeProcesses finds the processes of the plane's container by program.
func planeProcesses(ctx context.Context) (map[string]int, error) {
	output, err := command(ctx, "docker", "top", "capcon-plane", "-eo", "pid,args")
	if err != nil {
		return nil, err
	}
	found := map[string]int{}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		pid, err := strconv.Atoi(fields[0])
		if err != nil || len(fields) < 2 {
			continue // the heading
		}
		program := filepath.Base(fields[1])
		// One program is both: the one that supervises, and its manager.
		if program == "capcon-plane" {
			program = "daemon"
			if len(fields) > 2 && fields[2] == "manager" {
				program = "manager"
			}
		}
		found[program] = pid
	}
	return found, nil
}

// perMinute looks twice, and adds what counters gained, and what nodes used.
func (b *bench) perMinute(ctx context.Context, column string, look func() (map[string]float64, error), label string) error {
	nodes, err := b.nodes(ctx, label)
	if err != nil {
		return err
	}
	before, err := look()
	if err != nil {
		return err
	}
	used, err := b.nodeUsage(ctx, nodes)
	if err != nil {
		return err
	}
	if err := sleep(ctx, b.idle); err != nil {
		return err
	}
	after, err := look()
	if err != nil {
		return err
	}
	usedAfter, err := b.nodeUsage(ctx, nodes)
	if err != nil {
		return err
	}
	for row, count := range after {
		b.Results.add(row, column, number((count-before[row])/b.idle.Minutes()))
	}
	for role, node := range usedAfter {
		b.Results.add(fmt.Sprintf(nodeMemory, role), column, number(node.memory/1e6))
		b.Results.add(fmt.Sprintf(nodeTime, role), column, number((node.cpu-used[role].cpu).Seconds()/b.idle.Seconds()*1000))
	}
	return nil
}

// nodes returns the container of each role.
func (b *bench) nodes(ctx context.Context, label string) (map[string]string, error) {
	output, err := command(ctx, "docker", "ps", "--filter", "label="+label, "--format", "{{.Names}}")
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, name := range strings.Fields(output) {
		switch {
		case strings.Contains(name, "-control-plane-"):
			found[controlPlane] = name
		case strings.Contains(name, "-worker-"):
			found[worker] = name
		}
	}
	return found, nil
}

// nodeUse is what the engine says of a container.
type nodeUse struct {
	cpu    time.Duration
	memory float64
}

func (b *bench) nodeUsage(ctx context.Context, nodes map[string]string) (map[string]nodeUse, error) {
	engine := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", b.engineSocket)
	}}}
	defer engine.CloseIdleConnections()
	used := map[string]nodeUse{}
	for role, name := range nodes {
		var stats struct {
			CPU struct {
				Usage struct {
					Total int64 `json:"total_usage"`
				} `json:"cpu_usage"`
			} `json:"cpu_stats"`
			Memory struct {
				Usage float64            `json:"usage"`
				Stats map[string]float64 `json:"stats"`
			} `json:"memory_stats"`
		}
		content, err := get(ctx, engine, "http://engine/containers/"+name+"/stats?stream=false&one-shot=true")
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(content), &stats); err != nil {
			return nil, fmt.Errorf("read statistics of %s: %w", name, err)
		}
		// cgroup v1 and v2 call the page cache differently.
		cache := stats.Memory.Stats["total_cache"] + stats.Memory.Stats["file"]
		used[role] = nodeUse{cpu: time.Duration(stats.CPU.Usage.Total), memory: stats.Memory.Usage - cache}
	}
	return used, nil
}

// reconciles that the provider's manager has done.
func (m *management) reconciles(ctx context.Context) (float64, error) {
	content, err := get(ctx, http.DefaultClient, "http://"+m.metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	lines := bufio.NewScanner(strings.NewReader(content))
	for lines.Scan() {
		line := lines.Text()
		// The cache of connections is Cluster API's.
		if !strings.HasPrefix(line, "controller_runtime_reconcile_total{") || strings.Contains(line, `controller="clustercache"`) {
			continue
		}
		count, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read metrics: %w", err)
		}
		sum += count
	}
	return sum, lines.Err()
}
