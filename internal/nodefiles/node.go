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

package nodefiles

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// directory of the record in the node, which lives as long as its container.
const directory = "/var/lib/cluster-api-update"

var (
	//go:embed observe.sh
	observeScript string
	//go:embed write.sh
	writeScript string
	//go:embed record.sh
	recordScript string
)

// StepError says which step of an update failed on a node.
type StepError struct {
	// Step is what was done, Node the container, and Command what failed there. Err is how.
	Step, Node, Command string
	Err                 error
}

// Error implements error.
func (e *StepError) Error() string {
	return fmt.Sprintf("%s on node %s: %s: %s", e.Step, e.Node, e.Command, e.Err)
}

// Unwrap returns how it failed.
func (e *StepError) Unwrap() error { return e.Err }

// IsRefused reports whether the node refused a step, and not its engine.
func (e *StepError) IsRefused() bool {
	exit := new(engine.ExitError)
	return errors.As(e.Err, &exit) || errors.Is(e.Err, errNoEffect)
}

// Observe a running node: the paths of the specification, and those that the node has recorded.
func Observe(ctx context.Context, from engine.Executor, container string, spec Spec) (Observed, error) {
	paths := spec.paths()
	const step, name = "read files", "observe files"
	output, err := run(ctx, from, &StepError{Step: step, Node: container, Command: name}, engine.Command{
		Args: []string{"sh", "-c", observeScript, "observe", directory, containerd, kubelet}, Stdin: strings.NewReader(lines(paths)),
	})
	if err != nil {
		return Observed{}, err
	}
	has, err := parse(string(output), paths)
	if err != nil {
		return Observed{}, &StepError{Step: step, Node: container, Command: name, Err: err}
	}
	return has, nil
}

// Apply a step. It can be repeated.
func Apply(ctx context.Context, to engine.Executor, container string, step Step) error {
	var command engine.Command
	var name string
	switch step.Action {
	case PutRecord:
		name = "write " + directory + "/record"
		command = engine.Command{Args: []string{"sh", "-c", recordScript, "record", directory}, Stdin: strings.NewReader(step.Record.text())}
	case Write:
		name, command = "write files", engine.Command{Args: []string{"sh", "-c", writeScript, "write"}, Stdin: pack(step.Files)}
	case Remove:
		name, command = "rm", engine.Command{Args: append([]string{"rm", "-f", "--"}, step.Paths...)}
	case Restart:
		name = "systemctl restart " + step.Unit
		script := `systemctl daemon-reload && systemctl restart --no-block -- "$1"`
		if step.Unit == containerd {
			name, script = "containerd config dump && "+name, checkContainerd+script
		}
		command = engine.Command{Args: []string{"sh", "-c", script, "restart", step.Unit}}
	case Done, Wait:
		return nil
	}
	_, err := run(ctx, to, &StepError{Step: step.String(), Node: container, Command: name}, command)
	return err
}

// checkContainerd, which would not start again with a configuration that it cannot read, nor would the node be ready. What it says
// is the same each time.
const checkContainerd = `problem=$(containerd --log-level error config dump 2>&1 >/dev/null) || {
  printf '%s\n' "$problem" | sed '/level=warning/d; s/^time="[^"]*" //' >&2
  exit 1
}
`

// run a command, whose output has no contents of files. The error says what it is a part of.
func run(ctx context.Context, on engine.Executor, failed *StepError, command engine.Command) ([]byte, error) {
	output, err := on.Exec(ctx, failed.Node, command)
	if err == nil {
		return output.Stdout, nil
	}
	if text := strings.TrimSpace(string(output.Stderr)); text != "" {
		err = fmt.Errorf("%w: %.500s", err, text)
	}
	failed.Err = err
	return nil, failed
}

// pack files for the script that writes them, four lines each.
func pack(files []File) *bytes.Buffer {
	var out bytes.Buffer
	for _, file := range files {
		fmt.Fprintf(&out, "%s\n%s\n%04o\n%s\n", file.Path, file.Owner, file.Mode, base64.StdEncoding.EncodeToString(file.Content))
	}
	return &out
}

func lines(values []string) string {
	var out strings.Builder
	for _, value := range values {
		out.WriteString(value + "\n")
	}
	return out.String()
}

// errNoEffect says that a step was done, and has to be done again.
var errNoEffect = errors.New("the node does not keep it")

// maxSteps of one call: more than any update has.
const maxSteps = 12

// Advance does what can be done now, and returns the step that is next: Done, or one that waits.
func Advance(ctx context.Context, on engine.Executor, container string, spec Spec) (Step, error) {
	last := ""
	for range maxSteps {
		has, err := Observe(ctx, on, container, spec)
		if err != nil {
			return Step{}, err
		}
		step := Next(spec, has)
		if step.Action == Done || step.Action == Wait {
			return step, nil
		}
		if step.Action == Write && step.String() == last {
			return step, &StepError{Step: step.String(), Node: container, Command: "write files", Err: errNoEffect}
		}
		last = step.String()
		if err := Apply(ctx, on, container, step); err != nil {
			return step, err
		}
		if step.Problem != "" {
			return step, nil
		}
	}
	return Step{Action: Wait}, nil
}
