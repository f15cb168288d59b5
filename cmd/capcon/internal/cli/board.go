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

package cli

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
)

// board holds the steps that a command shows. Safe for concurrent use.
type board struct {
	mu      sync.Mutex
	display progress.Display
	steps   []progress.Step
	// done ends the clock's ticking.
	done chan struct{}
	gone sync.WaitGroup
}

// newBoard shows the steps of a command on standard error, so that standard output has the
// results alone, in the way that fits the terminal.
func (a *app) newBoard(title string) *board {
	b := &board{done: make(chan struct{})}
	size := func() (columns, rows int) { return a.Size(a.Err) }
	if columns, _ := size(); columns == 0 || a.Getenv("TERM") == "dumb" {
		b.display = progress.NewPipe(a.Err, a.Now)
		return b
	}
	b.display = progress.NewTerminal(a.Err, progress.Look{Title: title, Size: size, Plain: a.Getenv("NO_COLOR") != ""}, a.Now)
	// Only a picture has a clock that has to advance while nothing changes.
	b.gone.Go(func() {
		for {
			select {
			case <-b.done:
				return
			case <-a.After(time.Second):
				b.change(func() {})
			}
		}
	})
	return b
}

// interrupt the picture for other output, and for input. It begins again below.
func (b *board) interrupt(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.display.Close()
	f()
}

// close the board. What it showed last stays.
func (b *board) close() {
	close(b.done)
	b.gone.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.display.Close()
}

func (b *board) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	b.display.Show(b.steps)
}

// set a step, after those that are there if it is new.
func (b *board) set(step progress.Step) {
	b.change(func() {
		at := slices.IndexFunc(b.steps, func(s progress.Step) bool { return s.Name == step.Name })
		if at < 0 {
			b.steps = append(b.steps, step)
			return
		}
		b.steps[at] = step
	})
}

// waiting sets a step that is under way.
func (b *board) waiting(name, detail string) {
	b.set(progress.Step{Name: name, State: progress.Waiting, Detail: detail})
}

// begin sets a step that is under way, unless it is done: a second look at it changes nothing.
func (b *board) begin(name, detail string) {
	b.change(func() {
		if !slices.ContainsFunc(b.steps, func(s progress.Step) bool { return s.Name == name }) {
			b.steps = append(b.steps, progress.Step{Name: name, State: progress.Waiting, Detail: detail})
		}
	})
}

// figure sets a step that is under way and says how far in numbers.
func (b *board) figure(name, detail string) {
	b.set(progress.Step{Name: name, State: progress.Waiting, Detail: detail, Volatile: true})
}

// finished sets a step that is done.
func (b *board) finished(name, detail string) {
	b.set(progress.Step{Name: name, State: progress.Done, Detail: detail})
}

// failed sets a step that this command cannot do.
func (b *board) failed(name, detail string) {
	b.set(progress.Step{Name: name, State: progress.Failed, Detail: detail})
}

// cluster replaces everything behind the steps that come before the cluster's own by
// the snapshot. The command ends with the troubles that have stood for the grace period.
func (b *board) cluster(snapshot management.Snapshot, standing []management.Trouble) {
	fixed := []string{stepEngine, stepPlane, stepImages, stepProxy}
	b.change(func() {
		b.steps = slices.DeleteFunc(b.steps, func(s progress.Step) bool { return !slices.Contains(fixed, s.Name) })
		b.steps = append(b.steps, snapshotSteps(snapshot, standing)...)
	})
}

// deletion sets a step and, below it, the machines that are still there.
func (b *board) deletion(name, detail string, snapshot management.Snapshot) {
	b.change(func() {
		b.steps = slices.DeleteFunc(b.steps, func(s progress.Step) bool { return s.Indented || s.Name == name })
		b.steps = append(b.steps, progress.Step{Name: name, Detail: detail})
		for _, machine := range snapshot.Machines {
			b.steps = append(b.steps, progress.Step{Name: machine.Name, Detail: machine.Detail, Indented: true, Ended: "deleted"})
		}
	})
}

func snapshotSteps(snapshot management.Snapshot, standing []management.Trouble) []progress.Step {
	var steps []progress.Step
	for _, stage := range snapshot.Stages {
		steps = append(steps, progress.Step{Name: stage.Name, State: states[stage.Done], Detail: stage.Detail})
	}
	for _, machine := range snapshot.Machines {
		steps = append(steps, progress.Step{
			Name: machine.Name, State: states[machine.Ready], Detail: machine.Detail, Indented: true, Ended: "deleted",
		})
	}
	for _, trouble := range snapshot.Troubles {
		state := progress.Waiting
		if endsCommand(trouble) && slices.Contains(standing, trouble) {
			state = progress.Failed
		}
		steps = append(steps, progress.Step{
			Name: trouble.Object + " " + trouble.Reason, State: state, Indented: true, Ended: "resolved",
			Detail: management.OneLine(trouble.Message) + " -> " + remedyWhileWaiting(trouble),
		})
	}
	return steps
}

// endsCommand: neither time nor the command resolves it.
func endsCommand(trouble management.Trouble) bool { return !trouble.MayPass && trouble.Replace == "" }

// remedyWhileWaiting is the remedy for the user of a command that waits and replaces Machines.
func remedyWhileWaiting(trouble management.Trouble) string {
	switch {
	case trouble.Replace != "":
		return fmt.Sprintf("the Machine is replaced in %s", troubleGrace)
	case endsCommand(trouble):
		return fmt.Sprintf("%s; the command ends if this lasts for %s", trouble.Remedy, troubleGrace)
	}
	return trouble.Remedy
}

// states by whether the step is done.
var states = map[bool]progress.State{false: progress.Waiting, true: progress.Done}
