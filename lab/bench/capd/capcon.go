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
	"strconv"
	"time"
)

// capconColumn is the plane that a laptop has: one process with Cluster API's
// controllers and this provider's, in a container.
const capconColumn = "capcon up"

// runCapcon measures capcon up and down. The first cluster also starts the plane.
func (b *bench) runCapcon(ctx context.Context) error {
	defer func() { _, _ = command(context.WithoutCancel(ctx), b.capcon, "down", "--all") }()
	if _, err := b.capconUp(ctx, "bench-first", shape{1, 0}); err != nil {
		return err
	}
	if _, err := command(ctx, b.capcon, "down", "bench-first", "--keep-plane"); err != nil {
		return err
	}
	for _, s := range shapes() {
		up, err := b.capconUp(ctx, "bench-capcon", s)
		if err != nil {
			return err
		}
		b.Results.add(metric(s, nodesReady), capconColumn, up)
		begin := time.Now()
		if _, err := command(ctx, b.capcon, "down", "bench-capcon", "--keep-plane"); err != nil {
			return err
		}
		b.Results.add(metric(s, deleted), capconColumn, seconds(time.Since(begin)))
	}
	return nil
}

func (b *bench) capconUp(ctx context.Context, name string, s shape) (value, error) {
	begin := time.Now()
	_, err := command(ctx, b.capcon, "up", name,
		"--control-planes", strconv.Itoa(s.controlPlanes), "--workers", strconv.Itoa(s.workers))
	return seconds(time.Since(begin)), err
}
