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

// Package logs reads what the containers of a cluster have logged: the
// bootstrap of nodes, the journal of kubelet and containerd in them, and what
// load balancers print. Nothing is written that looks like a secret, or that
// is named as one.
package logs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

// Source is what logged.
type Source string

// The sources.
const (
	// Bootstrap is the log of the node's bootstrap.
	Bootstrap Source = "bootstrap"
	// Journal is that of kubelet and containerd in a node that runs.
	Journal Source = "journal"
	// Console is what a container's first process prints: haproxy's messages
	// of a load balancer, systemd's of a node.
	Console Source = "console"
)

// units whose journal is printed.
const units = "-u kubelet -u containerd"

// Engine is what reading takes.
type Engine interface {
	engine.Archiver
	engine.Executor
	engine.Logs
}

// Log is one log of one container.
type Log struct {
	// Container that has it.
	Container string
	Source    Source
	// Secrets that must not appear.
	Secrets []string
}

// Read the last lines of the log; 0 = all. One that does not exist, and the
// journal of a container that does not run, is empty.
func (l Log) Read(ctx context.Context, e Engine, lines int) (string, error) {
	text, err := l.read(ctx, e, lines)
	if err != nil {
		return "", fmt.Errorf("read %s of container %q: %w", l.Source, l.Container, err)
	}
	return l.redact(text), nil
}

func (l Log) redact(text string) string {
	return redact.Text(strings.ToValidUTF8(text, "\ufffd"), l.Secrets...)
}

func (l Log) read(ctx context.Context, e Engine, lines int) (string, error) {
	switch l.Source {
	case Bootstrap:
		content, err := readFile(ctx, e, l.Container, record.LogPath)
		return lastLines(content.Text(), lines), err
	case Journal:
		text, _, err := l.journal(ctx, e, "-n "+journalLines(lines))
		return text, err
	case Console:
	}
	var out Buffer
	err := e.ContainerLog(ctx, l.Container, engine.LogRequest{Tail: lines}, &out)
	return out.Text(), engine.IgnoreNotFound(err)
}

func journalLines(lines int) string {
	if lines == 0 {
		return "all"
	}
	return strconv.Itoa(lines)
}

// cursorMark begins the line with which journalctl ends.
const cursorMark = "-- cursor: "

// journal of the node behind a position, and the position of its end.
func (l Log) journal(ctx context.Context, e engine.Executor, where string) (text, cursor string, err error) {
	script := "journalctl --no-pager --quiet --show-cursor -o short " + units + " " + where
	var output Buffer
	_, err = e.Exec(ctx, l.Container, engine.Command{Args: []string{"sh", "-c", script}, Stdout: &output})
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		return "", "", nil // it does not run, or is gone
	}
	if err != nil {
		return "", "", err
	}
	text = output.Text()
	if at := strings.LastIndex(text, cursorMark); at >= 0 {
		cursor = strings.TrimSpace(text[at+len(cursorMark):])
		text = text[:at]
	}
	return text, cursor, nil
}

// interval between looks for what was logged meanwhile.
const interval = time.Second

// Follow writes what is logged from now on, with the last lines before it,
// until ctx ends; that is no error. Write is given whole lines.
func (l Log) Follow(ctx context.Context, e Engine, lines int, after func(time.Duration) <-chan time.Time, write func(string)) error {
	err := l.follow(ctx, e, lines, after, write)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("follow %s of container %q: %w", l.Source, l.Container, err)
	}
	return nil
}

func (l Log) follow(ctx context.Context, e Engine, lines int, after func(time.Duration) <-chan time.Time, write func(string)) error {
	if l.Source == Console {
		writer := &lineWriter{write: func(text string) { write(l.redact(text)) }}
		err := e.ContainerLog(ctx, l.Container, engine.LogRequest{Tail: lines, Follow: true}, writer)
		writer.flush()
		return engine.IgnoreNotFound(err)
	}
	next := l.reader(e, lines)
	for {
		text, err := next(ctx)
		if err != nil {
			return err
		}
		if text != "" {
			write(l.redact(text))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-after(interval):
		}
	}
}

// reader returns a function that returns what was logged since its last call.
func (l Log) reader(e Engine, lines int) func(context.Context) (string, error) {
	if l.Source == Journal {
		where := "-n " + journalLines(lines)
		return func(ctx context.Context) (string, error) {
			text, cursor, err := l.journal(ctx, e, where)
			if cursor != "" {
				where = "--after-cursor='" + cursor + "'"
			}
			return text, err
		}
	}
	seen := -1
	return func(ctx context.Context) (string, error) {
		content, err := readFile(ctx, e, l.Container, record.LogPath)
		// What is not a whole line yet is for the next time; a node that was
		// recreated begins from the start.
		before := seen
		seen = content.wholeLines()
		text := func(from int) string {
			text := content.after(from)
			return text[:strings.LastIndexByte(text, '\n')+1]
		}
		switch {
		case before < 0:
			return lastLines(text(0), lines), err
		case before > seen:
			return text(0), err
		}
		return text(before), err
	}
}

// lineWriter hands on whole lines.
type lineWriter struct {
	write func(string)
	rest  string
}

// maxLineBytes is the limit of a line of a log that capcon follows; a longer one is printed in pieces.
// +limit
const maxLineBytes = 1 << 20

// Write implements io.Writer.
func (w *lineWriter) Write(piece []byte) (int, error) {
	text := w.rest + string(piece)
	end := strings.LastIndexByte(text, '\n') + 1
	if end == 0 && len(text) > maxLineBytes {
		end = len(text)
	}
	if w.rest = text[end:]; end > 0 {
		w.write(text[:end])
	}
	return len(piece), nil
}

func (w *lineWriter) flush() {
	if w.rest != "" {
		w.write(w.rest)
	}
}
