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

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// Clock is the time; both functions are those of package time.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

const (
	// pollInterval is short against what users notice; the reads go to a
	// process on this machine.
	pollInterval = 500 * time.Millisecond
	// pauseShare times as long as a poll took is the pause after it, if that is longer: a
	// slow host has better things to do.
	pauseShare = 5
)

// Pause waits for the interval between polls, or returns the error of ctx when that ends first.
func (c Clock) Pause(ctx context.Context) error { return c.PauseFor(ctx, pollInterval, nil) }

// AfterPoll is how long to wait after a poll that started at this time.
func (c Clock) AfterPoll(start time.Time) time.Duration {
	return max(pollInterval, pauseShare*c.Now().Sub(start))
}

// PauseFor a duration, at most until there is a value in the channel, or return the error of
// ctx when that ends first.
func (c Clock) PauseFor(ctx context.Context, duration time.Duration, end <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-end:
	case <-c.After(duration):
	}
	return nil
}

// DefaultTimeout is generous for a cold laptop; a warm one needs a minute.
const DefaultTimeout = 10 * time.Minute

// AddTimeout adds --timeout to a command.
func AddTimeout(command *cobra.Command, into *time.Duration) {
	command.Flags().DurationVar(into, "timeout", DefaultTimeout, "how long to wait; 0 = no limit")
}

// RunWithin runs f with a timeout; 0 = no limit. Its error after the timeout begins with the
// message late.
func RunWithin(ctx context.Context, timeout time.Duration, late string, f func(context.Context) error) error {
	limited, cancel := Within(ctx, timeout)
	defer cancel()
	err := f(limited)
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", late, err)
	}
	return err
}

// Within bounds ctx by a timeout; 0 = no limit.
func Within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout > 0 {
		return context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {}
}
