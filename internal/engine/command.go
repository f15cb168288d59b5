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

package engine

import (
	"io"
)

// Command is a process to run in a container.
type Command struct {
	// Args is the program and its arguments; no shell is involved.
	Args []string
	// Stdin is given to the process as far as it reads it; nil = none. An error of
	// it is an error of the call. An io.Closer is closed when the process has ended,
	// because it may wait for input that is not needed any more.
	Stdin io.Reader
	// Stdout gets what the process prints there, as it comes and without a limit of its
	// size; nil = it is in the Output. An error of it ends the call.
	Stdout io.Writer
	// Stderr is the same for the other stream.
	Stderr io.Writer
	// Terminal of the process, which prints to Stdout alone; nil = it has none.
	Terminal *Terminal
	// User runs it; empty = the container's.
	User string
}

// Terminal of a process.
type Terminal struct {
	// Size that it begins with; zero = the engine's default.
	Size TerminalSize
	// Sizes that it gets until the process has ended; nil = none.
	Sizes <-chan TerminalSize
}

// TerminalSize is in characters.
type TerminalSize struct{ Columns, Rows uint16 }

// Output is what a Command printed.
type Output struct {
	Stdout, Stderr []byte
}

// LogRequest says how much of a container's log to read.
type LogRequest struct {
	// Tail is how many lines of what was printed before; 0 = all.
	Tail int
	// Follow what is printed next.
	Follow bool
}
