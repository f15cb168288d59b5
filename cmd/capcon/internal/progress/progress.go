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

// Package progress shows the progress of a command: a terminal shows one
// picture that is redrawn, a pipe gets a line for each change.
package progress

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
)

// State of a step.
type State int

// The states of a step.
const (
	// Waiting steps have not been done yet.
	Waiting State = iota
	// Done steps are.
	Done
	// Failed steps need the user.
	Failed
)

// Step is one line of the picture.
type Step struct {
	// Name is what the line is about, the same in each picture.
	Name string
	// State of it.
	State State
	// Detail says what it waits for or has reached. One line.
	Detail string
	// Indented steps belong to the one before.
	Indented bool
	// Ended says in one word how an indented step ended that is no longer shown.
	Ended string
	// Volatile says that the detail is a figure that changes all the time:
	// a pipe gets it every few seconds.
	Volatile bool
}

// Display shows steps.
type Display interface {
	// Show what is true now.
	Show(steps []Step)
	// Close ends the picture. What was shown last stays.
	Close()
}

// NewPipe shows a line per change, each with the time since the start.
func NewPipe(w io.Writer, now func() time.Time) Display {
	return &pipe{w: w, now: now, start: now(), shown: map[string]Step{}, at: map[string]time.Time{}}
}

// volatileInterval is how often a pipe gets a figure that changes all the
// time.
const volatileInterval = 5 * time.Second

type pipe struct {
	w     io.Writer
	now   func() time.Time
	start time.Time
	shown map[string]Step
	// at is when each step was shown.
	at map[string]time.Time
}

func (p *pipe) Show(steps []Step) {
	present := make(map[string]Step, len(steps))
	for _, step := range steps {
		before := p.shown[step.Name]
		recent := p.now().Sub(p.at[step.Name]) < volatileInterval
		if before == step || before.Volatile && step.Volatile && recent {
			present[step.Name] = before
			continue
		}
		present[step.Name], p.at[step.Name] = step, p.now()
		p.line(step.Name, looks[step.State].word, step.Detail)
	}
	for _, name := range slices.Sorted(maps.Keys(p.shown)) {
		if _, still := present[name]; !still && p.shown[name].Indented {
			p.line(name, "", p.shown[name].Ended)
		}
	}
	p.shown = present
}

func (p *pipe) line(name, mark, detail string) {
	// An error of the output has nowhere to go but the output.
	_, _ = fmt.Fprintf(p.w, "%s %-7s %s: %s\n", elapsed(p.now().Sub(p.start)), mark, name, detail)
}

func (p *pipe) Close() {}

// looks of the states: the word of a pipe, and the sign and its color of a terminal.
var looks = [...]struct{ word, sign, color string }{
	Waiting: {"waiting", "·", dim},
	Done:    {"done", "✓", green},
	Failed:  {"failed", "✗", red},
}

func elapsed(d time.Duration) string {
	return fmt.Sprintf("%4ds", int(d.Round(time.Second).Seconds()))
}

// Look of a picture on a terminal.
type Look struct {
	// Title is its first line.
	Title string
	// Size of the terminal, each time, because users resize windows.
	Size func() (columns, rows int)
	// Plain has no colors: https://no-color.org.
	Plain bool
}

// NewTerminal draws one picture again and again.
func NewTerminal(w io.Writer, look Look, now func() time.Time) Display {
	return &terminal{w: w, look: look, now: now, start: now()}
}

type terminal struct {
	w     io.Writer
	look  Look
	now   func() time.Time
	start time.Time
	// drawn is how many lines the last picture has.
	drawn int
}

// Escape sequences of ECMA-48: cursor up n lines, erase to the end of the
// screen, colors.
const (
	cursorUp   = "\x1b[%dA"
	eraseBelow = "\r\x1b[J"
	green      = "\x1b[32m"
	red        = "\x1b[31m"
	dim        = "\x1b[2m"
	plain      = "\x1b[0m"
)

func (t *terminal) Show(steps []Step) {
	var picture strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&picture, cursorUp, t.drawn)
	}
	picture.WriteString(eraseBelow)
	columns, rows := t.look.Size()
	picture.WriteString(output.Cut(fmt.Sprintf("%s %s", t.look.Title, strings.TrimSpace(elapsed(t.now().Sub(t.start)))), columns) + "\n")
	nameWidth := widest(steps)
	shown := fit(steps, rows)
	for _, step := range shown {
		picture.WriteString(t.draw(step, nameWidth, columns) + "\n")
	}
	t.drawn = len(shown) + 1
	if hidden := len(steps) - len(shown); hidden > 0 {
		fmt.Fprintf(&picture, " … and %d more\n", hidden)
		t.drawn++
	}
	// An error of the output has nowhere to go but the output.
	_, _ = io.WriteString(t.w, picture.String())
}

func (t *terminal) Close() { t.drawn = 0 }

// fit keeps the picture lower than the terminal: what has scrolled out cannot
// be drawn over. Alongside the steps there are the title, the line that says how
// many are hidden, and the one the cursor is on.
func fit(steps []Step, rows int) []Step {
	const others = 3
	if room := max(rows-others, 1); rows > 0 && len(steps) > room {
		return steps[:room]
	}
	return steps
}

func (t *terminal) draw(step Step, nameWidth, columns int) string {
	look, indent := looks[step.State], " "
	if step.Indented {
		indent = "   "
	}
	const signAndSpaces = 3
	text := output.Cut(fmt.Sprintf("%-*s  %s", nameWidth, step.Name, step.Detail), columns-len(indent)-signAndSpaces)
	if t.look.Plain {
		return indent + look.sign + " " + text
	}
	return indent + look.color + look.sign + plain + " " + text
}

func widest(steps []Step) int {
	width := 0
	for _, step := range steps {
		width = max(width, utf8.RuneCountInString(step.Name))
	}
	return width
}
