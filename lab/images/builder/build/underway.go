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

package build

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// heartbeat is how long a build may be silent: all of Kubernetes compiles for
// minutes, and who watches wants to know that it does.
const heartbeat = 30 * time.Second

// underway is the work that is being done now: what, since when, and how much remains. Its
// zero value is ready to use.
type underway struct {
	mutex sync.Mutex
	since map[string]time.Time
	// planned artifacts are made in this run, and remaining ones are not finished.
	planned, remaining int
}

func (u *underway) plan(count int) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.planned, u.remaining = count, count
}

// finish counts one artifact as made.
func (u *underway) finish() {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.remaining--
}

func (u *underway) begin(name string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.since == nil {
		u.since = map[string]time.Time{}
	}
	u.since[name] = time.Now()
}

func (u *underway) end(name string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	delete(u.since, name)
}

// describe lists the work, the oldest first, and how many artifacts remain with it; empty
// where there is no work.
func (u *underway) describe(now time.Time) string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	names := slices.SortedFunc(maps.Keys(u.since), func(a, b string) int {
		return cmp.Or(u.since[a].Compare(u.since[b]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s for %.0fs", name, now.Sub(u.since[name]).Seconds())
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s; %d of %d parts remain", strings.Join(names, ", "), u.remaining, u.planned)
}

// reportUnderway says what is being worked on, again and again until ctx ends.
func (b *Builder) reportUnderway(ctx context.Context) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if work := b.underway.describe(now); work != "" {
				b.Say("images", "working on %s", work)
			}
		}
	}
}
