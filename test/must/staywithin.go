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

package must

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

// hang is how long a call may take. It is not a measure of speed, which
// differs from machine to machine: every call that is bounded by its input
// ends a hundred times sooner, and only one that is not bounded takes longer.
const hang = time.Minute

// Limit of the bytes that a call allocates in all, freed ones included. That
// counts the work too: what loops over its input again and again, or expands
// it, allocates.
type Limit struct {
	// Base is allowed for any input, in bytes.
	Base uint64
	// PerByte is allowed in addition for each byte of the input.
	PerByte uint64
	// Most is the limit for any input, however large; 0 = none.
	Most uint64
}

func (l Limit) bytes(input int) uint64 {
	allowed := l.Base + l.PerByte*uint64(input) //nolint:gosec // A length is not negative.
	if l.Most > 0 {
		return min(allowed, l.Most)
	}
	return allowed
}

// StayWithin runs call, whose input has the given length, and fails the test where
// it allocates more than the limit. A call that does not end in a minute
// panics, so that the stacks show where it is and go test keeps the input.
//
// The whole process is measured: nothing else may run in it. Targets of go test
// -fuzz and tests that are not parallel do not.
func StayWithin(tb testing.TB, input int, limit Limit, call func()) {
	tb.Helper()
	timer := time.AfterFunc(hang, func() { panic(fmt.Sprintf("the call did not end within %s", hang)) })
	defer timer.Stop()
	before := allocated()
	call()
	used, allowed := allocated()-before, limit.bytes(input)
	if used > allowed {
		tb.Errorf("allocated %d KiB for an input of %d bytes, allowed are %d KiB", used>>10, input, allowed>>10)
	}
}

// allocated is how many bytes the process has allocated since it started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
