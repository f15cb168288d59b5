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

package simulatednode

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Files are what in-place updates change of a node: files, the record of updates, and the invocations of units.
type Files struct {
	mutex       sync.Mutex
	contents    map[string]string
	record      string
	invocations map[string]int
	// Broken is a path that cannot be written; empty = none.
	Broken string
}

// NewFiles returns those of a node whose first boot wrote the contents.
func NewFiles(contents map[string]string) *Files {
	f := &Files{contents: map[string]string{}, invocations: map[string]int{}}
	maps.Copy(f.contents, contents)
	return f
}

// Contents of all files, and of no other.
func (f *Files) Contents() map[string]string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return maps.Clone(f.contents)
}

// Put a file, as a user does who edits it in the node.
func (f *Files) Put(path, content string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.contents[path] = content
}

// Repair lets all files be written.
func (f *Files) Repair() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.Broken = ""
}

// Restarts of a unit.
func (f *Files) Restarts(unit string) int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.invocations[unit]
}

// Exec does what the commands of package nodefiles do in a node; others do nothing.
func (f *Files) Exec(_ string, command engine.Command) (engine.Output, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var input []byte
	if command.Stdin != nil {
		var err error
		if input, err = io.ReadAll(command.Stdin); err != nil {
			return engine.Output{}, fmt.Errorf("read standard input: %w", err)
		}
	}
	switch {
	case command.Args[0] == "rm":
		for _, path := range command.Args[slices.Index(command.Args, "--")+1:] {
			delete(f.contents, path)
		}
	case len(command.Args) < 4:
	case command.Args[3] == "observe":
		return engine.Output{Stdout: []byte(f.observe(string(input), command.Args[5:]))}, nil
	case command.Args[3] == "record":
		f.record = string(input)
	case command.Args[3] == "restart":
		f.invocations[command.Args[4]]++
	case command.Args[3] == "write":
		return f.write(strings.Split(string(input), "\n"))
	}
	return engine.Output{}, nil
}

// write files, all of mode 0644 and of root, until one is broken.
func (f *Files) write(lines []string) (engine.Output, error) {
	for entry := range slices.Chunk(lines, 4) {
		if len(entry) < 4 {
			break
		}
		if entry[0] == f.Broken {
			return engine.Output{Stderr: []byte("cannot write " + entry[0])}, &engine.ExitError{Code: 1}
		}
		content, err := base64.StdEncoding.DecodeString(entry[3])
		if err != nil {
			return engine.Output{}, fmt.Errorf("decode content: %w", err)
		}
		f.contents[entry[0]] = string(content)
	}
	return engine.Output{}, nil
}

func (f *Files) observe(paths string, units []string) string {
	out := f.record
	for line := range strings.Lines(f.record) {
		if path, isPath := strings.CutPrefix(line, "path "); isPath {
			paths += path
		}
	}
	number := 0
	for path := range strings.Lines(paths) {
		if content, isThere := f.contents[strings.TrimSuffix(path, "\n")]; isThere {
			sum := sha256.Sum256([]byte(content))
			out += fmt.Sprintf("file %d 644 root root 0 0 %s\n", number, hex.EncodeToString(sum[:]))
		}
		number++
	}
	for _, unit := range units {
		out += fmt.Sprintf("unit %s\nInvocationID=%d\nActiveState=active\nSubState=running\nResult=success\n", unit, f.invocations[unit])
	}
	return out
}
