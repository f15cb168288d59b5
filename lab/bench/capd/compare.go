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
	"maps"
	"slices"
	"time"
)

// runProvider measures one provider once: clusters of both shapes, and what
// faults do to another.
func (b *bench) runProvider(ctx context.Context, p provider) (err error) {
	begin := time.Now()
	m, err := b.startManagement(ctx, p)
	if err != nil {
		return fmt.Errorf("%s: %w", p.title, err)
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	b.say("%s: API server and managers are ready after %.1f s", p.title, time.Since(begin).Seconds())
	if err := m.prepare(ctx); err != nil {
		return err
	}
	for i, part := range []string{"small", "large"} {
		if !b.has(part) {
			continue
		}
		if err := b.measureShape(ctx, m, shapes()[i]); err != nil {
			b.trouble("%s: %v", p.title, err)
		}
	}
	if b.has("faults") {
		if err := b.measureFaults(ctx, m); err != nil {
			b.trouble("%s: %v", p.title, err)
		}
	}
	return nil
}

// measureShape creates and deletes a cluster.
func (b *bench) measureShape(ctx context.Context, m *management, s shape) error {
	column := m.provider.title
	calls := m.engine.calls()
	before, err := m.manager.usage()
	if err != nil {
		return err
	}
	c, reached, err := b.create(ctx, m, fmt.Sprintf("%s-%d", m.provider.key, s.machines()), s)
	if c == nil {
		return err
	}
	if ctx.Err() != nil {
		_, deleteErr := c.delete(ctx)
		return errors.Join(ctx.Err(), deleteErr)
	}
	for _, milestone := range slices.Sorted(maps.Keys(reached)) {
		b.Results.add(metric(s, milestone), column, reached[milestone])
		b.say("%s: %s: %s s", column, metric(s, milestone), reached[milestone])
	}
	after, usageErr := m.manager.usage()
	created := difference(calls, m.engine.calls())
	if err == nil && usageErr == nil {
		b.Results.add(metric(s, callsUp), column, number(float64(total(created))/float64(s.machines())))
		b.Results.add(metric(s, managerTime), column, seconds(after.cpu-before.cpu))
		b.Results.add(metric(s, managerResident), column, number(float64(after.resident)/1e6))
		b.Breakdowns = append(b.Breakdowns, fmt.Sprintf("%s, %s, up: %s", column, s, breakdown(created)))
	}
	calls = m.engine.calls()
	took, deleteErr := c.delete(ctx)
	if deleteErr == nil {
		gone := difference(calls, m.engine.calls())
		b.Results.add(metric(s, callsDown), column, number(float64(total(gone))/float64(s.machines())))
		b.Breakdowns = append(b.Breakdowns, fmt.Sprintf("%s, %s, deleting: %s", column, s, breakdown(gone)))
	}
	if deleteErr == nil || took.limit > 0 {
		b.Results.add(metric(s, deleted), column, took)
		b.say("%s: %s: %s s", column, metric(s, deleted), took)
	}
	return errors.Join(err, usageErr, deleteErr)
}

// measureFaults kills a worker, and restarts the engine, under a small cluster.
func (b *bench) measureFaults(ctx context.Context, m *management) error {
	c, _, err := b.create(ctx, m, m.provider.key+"-faults", shapes()[0])
	if c == nil {
		return err
	}
	for _, fault := range []func(context.Context) (map[string]value, error){c.killWorker, c.restartEngine} {
		if err != nil {
			break
		}
		var seen map[string]value
		seen, err = fault(ctx)
		for row, v := range seen {
			b.Results.add(row, m.provider.title, v)
			b.say("%s: %s %s", m.provider.title, row, v)
		}
	}
	_, deleteErr := c.delete(ctx)
	return errors.Join(err, deleteErr)
}
