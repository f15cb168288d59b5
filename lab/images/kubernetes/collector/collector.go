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

// Package collector sets how often Go collects garbage by how much a process allocates.
//
// The API server of a management plane allocates hundreds of MB each second while clusters
// are created, and next to nothing for the hours between. Go's garbage collector keeps the
// memory of the busy time for as long as the percentage stays.
package collector

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// interval between two readings of the allocated bytes.
	interval = time.Second
	// quietBytes are what an idle API server allocates in an interval at most: it answers
	// leases and probes. One that creates a cluster allocates 40 to 500 MB.
	quietBytes = 8 << 20
	// quietIntervals have to follow each other until the process is idle.
	quietIntervals = 30
	// startIntervals are how long an API server starts, until it serves all kinds.
	startIntervals = 10
	// startPercent is less than Go's 100: of what is allocated while the API server starts, much
	// stays for good, and the less garbage is between it, the fewer pages are half empty
	// later. Measured from the start to a ready cluster, 150 leaves 450 MB and takes 14 s of
	// processor time, 75 leaves 265 MB and takes 16 s, 50 leaves 230 MB and takes 19 s.
	startPercent = 75
	// busyPercent is more than Go's 100: nearly all that requests allocate is garbage soon.
	// Against 75 an API server that creates a cluster takes a sixth less processor time.
	busyPercent = 300
	// idlePercent costs little where little is allocated.
	idlePercent = 20
)

// Run never returns.
func Run() {
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocated)
	before := allocated[0].Value.Uint64()
	debug.SetGCPercent(startPercent)
	var p pace
	for range time.Tick(interval) {
		metrics.Read(allocated)
		now := allocated[0].Value.Uint64()
		if p.observe(now - before) {
			debug.SetGCPercent(p.percent())
			if p.idle() {
				debug.FreeOSMemory()
			}
		}
		before = now
	}
}

// pace of the garbage collector. The zero value is that of a process that starts.
type pace struct {
	observed, quiet int
}

// observe one interval in which so many bytes were allocated, and report whether that changes
// the percentage.
func (p *pace) observe(bytes uint64) (changed bool) {
	before := p.percent()
	p.observed++
	p.quiet++
	if bytes > quietBytes {
		p.quiet = 0
	}
	return p.percent() != before
}

func (p *pace) idle() bool { return p.quiet >= quietIntervals }

func (p *pace) percent() int {
	switch {
	case p.idle():
		return idlePercent
	case p.observed < startIntervals:
		return startPercent
	default:
		return busyPercent
	}
}
