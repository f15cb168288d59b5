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

package progress

import (
	"io"
	"slices"
	"sync"
	"time"
)

// Board holds the steps that a command shows. Safe for concurrent use.
type Board struct {
	mu      sync.Mutex
	display Display
	steps   []Step
	// done ends the clock's ticking.
	done chan struct{}
	gone sync.WaitGroup
}

// Terminal is what a board needs of the world.
type Terminal struct {
	// Out is where the steps are shown.
	Out io.Writer
	// Size of the terminal; 0 columns = Out is none.
	Size func() (columns, rows int)
	// Getenv, Now and After are those of os and time.
	Getenv func(string) string
	Now    func() time.Time
	After  func(time.Duration) <-chan time.Time
}

// NewBoard shows the steps of a command in the way that fits the terminal. The caller closes it.
func NewBoard(title string, on Terminal) *Board {
	b := &Board{done: make(chan struct{})}
	if columns, _ := on.Size(); columns == 0 || on.Getenv("TERM") == "dumb" {
		b.display = NewPipe(on.Out, on.Now)
		return b
	}
	b.display = NewTerminal(on.Out, Look{Title: title, Size: on.Size, Plain: on.Getenv("NO_COLOR") != ""}, on.Now)
	// Only a picture has a clock that has to advance while nothing changes.
	b.gone.Go(func() {
		for {
			select {
			case <-b.done:
				return
			case <-on.After(time.Second):
				b.change(func() {})
			}
		}
	})
	return b
}

// Interrupt the picture for other output, and for input. It begins again below.
func (b *Board) Interrupt(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.display.Close()
	f()
}

// Close the board. What it showed last stays.
func (b *Board) Close() {
	close(b.done)
	b.gone.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.display.Close()
}

func (b *Board) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	b.display.Show(b.steps)
}

// set a step, after those that are there if it is new.
func (b *Board) set(step Step) {
	b.change(func() {
		at := slices.IndexFunc(b.steps, func(s Step) bool { return s.Name == step.Name })
		if at < 0 {
			b.steps = append(b.steps, step)
			return
		}
		b.steps[at] = step
	})
}

// Waiting sets a step that is under way.
func (b *Board) Waiting(name, detail string) {
	b.set(Step{Name: name, State: Waiting, Detail: detail})
}

// Begin sets a step that is under way, unless it is done: a second look at it changes nothing.
func (b *Board) Begin(name, detail string) {
	b.change(func() {
		if !slices.ContainsFunc(b.steps, func(s Step) bool { return s.Name == name }) {
			b.steps = append(b.steps, Step{Name: name, State: Waiting, Detail: detail})
		}
	})
}

// Figure sets a step that is under way and says how far in numbers.
func (b *Board) Figure(name, detail string) {
	b.set(Step{Name: name, State: Waiting, Detail: detail, Volatile: true})
}

// Finished sets a step that is done.
func (b *Board) Finished(name, detail string) {
	b.set(Step{Name: name, State: Done, Detail: detail})
}

// Failed sets a step that this command cannot do.
func (b *Board) Failed(name, detail string) {
	b.set(Step{Name: name, State: Failed, Detail: detail})
}

// Replace everything behind the fixed steps by others.
func (b *Board) Replace(fixed []string, steps ...Step) {
	b.change(func() {
		b.steps = slices.DeleteFunc(b.steps, func(s Step) bool { return !slices.Contains(fixed, s.Name) })
		b.steps = append(b.steps, steps...)
	})
}

// Nest sets a step and replaces the indented ones below it.
func (b *Board) Nest(step Step, below ...Step) {
	b.change(func() {
		at := slices.IndexFunc(b.steps, func(s Step) bool { return s.Name == step.Name })
		end := at + 1
		if at < 0 {
			at, end = len(b.steps), len(b.steps)
		}
		for end < len(b.steps) && b.steps[end].Indented {
			end++
		}
		b.steps = slices.Replace(b.steps, at, end, append([]Step{step}, below...)...)
	})
}
