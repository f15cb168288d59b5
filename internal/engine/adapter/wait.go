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

package adapter

import (
	"context"
	"sync"
	"time"
)

// Wait sleeps unless ctx ends.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Each calls do with the index of each of a number of things, several concurrently, and
// returns when all calls have.
func Each(things, limit int, do func(i int)) {
	next := make(chan int)
	var group sync.WaitGroup
	for range min(limit, things) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range things {
		next <- i
	}
	close(next)
	group.Wait()
}

// cleanupTimeout bounds what is tidied up after ctx has ended.
const cleanupTimeout = 10 * time.Second

// Cleanup returns a context for what is tidied up, also when ctx has ended.
func Cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}
