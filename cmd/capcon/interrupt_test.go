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

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// hangs in the environment makes the test's own program a command that does not end when
// it is interrupted.
const hangs = "CAPCON_TEST_HANGS"

func TestSecondSignalEndsTheProcess(t *testing.T) {
	t.Parallel()
	if os.Getenv(hangs) != "" {
		ctx, stop := interruptible()
		defer stop()
		fmt.Println("started")
		<-ctx.Done()
		fmt.Println("interrupted")
		select {}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSecondSignalEndsTheProcess$") //nolint:gosec // this program
	command.Env = append(os.Environ(), hangs+"=yes")
	output := must.Get(command.StdoutPipe())(t)
	must.Succeed(t, command.Start())
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if lines.Text() == "started" || lines.Text() == "interrupted" {
			must.Succeed(t, command.Process.Signal(os.Interrupt))
		}
	}
	err := command.Wait()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT { //nolint:forcetypeassert // on Unix
		t.Errorf("process: %v, want it ended by the second signal", err)
	}
}
