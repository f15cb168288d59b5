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

package enginetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const mebibyte = 1 << 20

func execChecks() map[string]check {
	return map[string]check{
		"output": {
			contract: "runs the command to its end and returns what it printed",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				c.wantExec(t, engine.Command{Args: []string{"/tool", "print", "out", "err"}}, "out", "err", 0)
			},
		},
		"exit code": {
			contract: "An exit code other than 0 is an *ExitError, returned together with the output",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				for _, code := range []int{1, 2, 42, 125, 126, 127, 128, 137, 255} {
					c.wantExec(t, engine.Command{Args: []string{"/tool", "exit", fmt.Sprint(code)}}, "", "", code)
				}
				c.wantExec(t, engine.Command{Args: []string{"/tool", "unknown"}}, "", "no command unknown\n", 1)
			},
		},
		"too much output": {
			contract: "with ErrTooLarge when the command prints more than MaxReadBytes to a stream",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				for size, want := range map[int]error{engine.MaxReadBytes: nil, engine.MaxReadBytes + 1: engine.ErrTooLarge} {
					_, err := c.Exec(t.Context(), c.named("a"), engine.Command{Args: []string{"/tool", "big", fmt.Sprint(size)}})
					if !errors.Is(err, want) {
						t.Errorf("%d bytes: error %v, want %v", size, err, want)
					}
				}
			},
		},
		"program absent": {
			contract: "a program that cannot be run ends with 126 or 127, as in a shell",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				_, err := c.Exec(t.Context(), c.named("a"), engine.Command{Args: []string{"/absent"}})
				var exit *engine.ExitError
				if !errors.As(err, &exit) || (exit.Code != 126 && exit.Code != 127) {
					t.Errorf("error %v, want exit code 126 or 127", err)
				}
			},
		},
		"stdin": {
			contract: "Stdin is given to the process; nil = none",
			run:      passesStdin,
		},
		"stdin fails": {
			contract: "an error of Stdin is an error of the call",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				broken := errors.New("broken")
				_, err := c.Exec(t.Context(), c.named("a"), engine.Command{Args: []string{"/tool", "cat"}, Stdin: iotest.ErrReader(broken)})
				if !errors.Is(err, broken) {
					t.Errorf("error %v, want that of the input", err)
				}
			},
		},
		"stdin not read": {
			contract: "a command need not read its input",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				input := strings.Repeat("x", mebibyte)
				c.wantExec(t, engine.Command{Args: []string{"/tool", "exit", "0"}, Stdin: strings.NewReader(input)}, "", "", 0)
				c.wantExec(t, engine.Command{Args: []string{"/tool", "exit", "3"}, Stdin: strings.NewReader(input)}, "", "", 3)
			},
		},
		"both ways": {
			contract: "Stdout gets what the process prints there, as it comes; Stdin is closed when the process has ended",
			run:      answersWhileItAsks,
		},
		"large output": {
			contract: "returns all that was printed, both streams apart",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				const size = 8 * mebibyte
				c.wantExec(t, engine.Command{Args: []string{"/tool", "big", fmt.Sprint(size)}},
					strings.Repeat("o", size), strings.Repeat("e", size), 0)
			},
		},
		"with a terminal": {
			contract: "output is the command's own also where the container has a terminal",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.TTY = true
				c.run(t, spec)
				c.wantExec(t, engine.Command{Args: []string{"/tool", "print", "out\n", "err\n"}}, "out\n", "err\n", 0)
			},
		},
		"concurrent": {
			contract: "safe for concurrent use",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				var group sync.WaitGroup
				for i := range 10 {
					group.Go(func() {
						text := fmt.Sprint("number ", i)
						c.wantExec(t, engine.Command{Args: []string{"/tool", "print", text}}, text, "", 0)
					})
				}
				group.Wait()
			},
		},
		"absent or not running": {
			contract: "Container absent: ErrNotFound; not running: ErrConflict",
			run: func(t *testing.T, c *fixture) {
				command := engine.Command{Args: []string{"/tool", "exit", "0"}}
				_, err := c.Exec(t.Context(), c.named("absent"), command)
				wantKind(t, "absent container", err, engine.ErrNotFound)
				c.create(t, c.spec("a"))
				_, err = c.Exec(t.Context(), c.named("a"), command)
				wantKind(t, "container that never ran", err, engine.ErrConflict)
				c.start(t, c.named("a"))
				c.stop(t, c.named("a"))
				_, err = c.Exec(t.Context(), c.named("a"), command)
				wantKind(t, "stopped container", err, engine.ErrConflict)
			},
		},
		"no command": {
			contract: "a command without a program: ErrInvalid",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				_, err := c.Exec(t.Context(), c.named("a"), engine.Command{})
				wantKind(t, "no program", err, engine.ErrInvalid)
			},
		},
		"context ends": {
			contract:  "When ctx ends the call returns",
			processes: true,
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				began := time.Now()
				_, err := c.Exec(ctx, c.named("a"), engine.Command{Args: []string{"/tool", "hang"}, Stdin: strings.NewReader("x")})
				wantKind(t, "command that hangs", err, context.DeadlineExceeded)
				// The command itself never ends.
				t.Logf("returned %s after the call", time.Since(began))
			},
		},
		"user": {
			contract:  "User runs it; empty = the container's",
			processes: true,
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.User = "1000:1001"
				c.run(t, spec)
				c.wantExec(t, engine.Command{Args: []string{"/tool", "id"}}, "1000:1001", "", 0)
				c.wantExec(t, engine.Command{Args: []string{"/tool", "id"}, User: "0:0"}, "0:0", "", 0)
			},
		},
	}
}

// wantExec runs a command in the container "a".
func (c *fixture) wantExec(t *testing.T, command engine.Command, stdout, stderr string, code int) {
	t.Helper()
	output, err := c.Exec(t.Context(), c.named("a"), command)
	var exit *engine.ExitError
	switch {
	case code == 0 && err != nil:
		t.Errorf("%v: %v, want success", command.Args, err)
	case code != 0 && (!errors.As(err, &exit) || exit.Code != code):
		t.Errorf("%v: error %v, want exit code %d", command.Args, err, code)
	}
	for what, pair := range map[string][2]string{"stdout": {string(output.Stdout), stdout}, "stderr": {string(output.Stderr), stderr}} {
		if pair[0] != pair[1] {
			t.Errorf("%v: %s of %d bytes %.40q, want %d bytes %.40q", command.Args, what, len(pair[0]), pair[0], len(pair[1]), pair[1])
		}
	}
}

func passesStdin(t *testing.T, c *fixture) {
	c.run(t, c.spec("a"))
	for title, input := range map[string][]byte{
		"none": nil, "empty": {}, "short": []byte("line\n"), "large": bytes.Repeat([]byte("0123456789abcdef"), mebibyte/16),
	} {
		command := engine.Command{Args: []string{"/tool", "cat"}}
		if input != nil {
			command.Stdin = bytes.NewReader(input)
		}
		output, err := c.Exec(t.Context(), c.named("a"), command)
		if err != nil || !bytes.Equal(output.Stdout, input) {
			t.Errorf("%s: %d bytes back, error %v, want the %d given", title, len(output.Stdout), err, len(input))
		}
	}
}

// answersWhileItAsks: the second line is given when the first one has come back. The
// process ends with its input, or before it.
func answersWhileItAsks(t *testing.T, c *fixture) {
	c.run(t, c.spec("a"))
	toProcess, input := io.Pipe()
	output, fromProcess := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		got, err := c.Exec(t.Context(), c.named("a"), engine.Command{Args: []string{"/tool", "cat"}, Stdin: toProcess, Stdout: fromProcess})
		if len(got.Stdout) > 0 {
			t.Errorf("the Output has %q too", got.Stdout)
		}
		ended <- err
	}()
	lines := bufio.NewReader(output)
	for _, line := range []string{"one\n", "two\n"} {
		_, err := io.WriteString(input, line)
		succeed(t, "write", err)
		if got, err := lines.ReadString('\n'); err != nil || got != line {
			t.Fatalf("read %q, %v, want %q", got, err, line)
		}
	}
	succeed(t, "close the input", input.Close())
	succeed(t, "Exec", <-ended)

	waiting, silent := io.Pipe()
	defer func() { _ = silent.Close() }()
	_, err := c.Exec(t.Context(), c.named("a"), engine.Command{Args: []string{"/tool", "exit", "0"}, Stdin: waiting, Stdout: io.Discard})
	succeed(t, "Exec with an input that does not end", err)
}
