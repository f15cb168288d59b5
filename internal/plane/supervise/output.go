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

package supervise

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What a process may print. Container engines keep logs without a bound, and
// a component that lost its server can print thousands of lines a second.
const (
	maxLineBytes = 4096
	// burstLines may come immediately, linesPerSecond in the long run.
	burstLines     = 2000
	linesPerSecond = 20
	// tailLines are kept to explain a process that does not become ready.
	tailLines = 20
)

// sharedWriter lets several processes write to one writer.
type sharedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// lineWriter passes whole lines on, with a name before each, cut and counted.
// It never returns an error: a process must not fail because its log does.
type lineWriter struct {
	out    io.Writer
	prefix string
	now    func() time.Time

	mu      sync.Mutex
	partial []byte
	recent  []string
	limit   *rate.Limiter
	dropped int
}

func newLineWriter(out io.Writer, name string) *lineWriter {
	return &lineWriter{out: out, prefix: name + " | ", now: time.Now, limit: rate.NewLimiter(linesPerSecond, burstLines)}
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			break
		}
		w.grow(p[:end])
		w.emit()
		p = p[end+1:]
	}
	w.grow(p)
	return n, nil
}

// flush passes on what the process printed after its last newline.
func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.partial) > 0 {
		w.emit()
	}
}

// tail returns the last lines, oldest first.
func (w *lineWriter) tail() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.recent)
}

func (w *lineWriter) grow(p []byte) {
	if room := maxLineBytes - len(w.partial); len(p) > room {
		p = p[:max(room, 0)]
	}
	w.partial = append(w.partial, p...)
}

func (w *lineWriter) emit() {
	line := string(w.partial)
	w.partial = w.partial[:0]
	w.recent = append(w.recent, line)
	if len(w.recent) > tailLines {
		w.recent = w.recent[1:]
	}
	if !w.limit.AllowN(w.now(), 1) {
		w.dropped++
		return
	}
	if w.dropped > 0 {
		line = fmt.Sprintf("(%d lines dropped)\n%s%s", w.dropped, w.prefix, line)
		w.dropped = 0
	}
	_, _ = io.WriteString(w.out, w.prefix+line+"\n") // nowhere to report it
}
