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

package simulated_test

import (
	"archive/tar"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	eng.HandleExec((&tool{engine: eng}).run)
	var lastPort atomic.Uint32
	lastPort.Store(20000)
	freePort := func(*testing.T) uint16 { return uint16(lastPort.Add(1)) }
	enginetest.Conformance(t, enginetest.Harness{
		Connect:       func(*testing.T) engine.Engine { return eng },
		RestartEngine: func(*testing.T) { eng.RestartEngine() },
		Interrupt:     func(*testing.T) { eng.RelistEvents() },
		Outage: func(*testing.T) func() {
			eng.Down()
			return eng.Up
		},
		FreePort: freePort,
		OccupyPort: func(t *testing.T) uint16 {
			port := freePort(t)
			eng.OccupyHostPort(port)
			return port
		},
		HostDirectory: func(t *testing.T, file, content string) string {
			directory := "/host/" + strconv.Itoa(int(freePort(t)))
			must.Succeed(t, eng.WriteHostFile(directory, file, []byte(content)))
			return directory
		},
		MissingHostPath: func(*testing.T) string {
			eng.RemoveHostPath("/missing")
			return "/missing"
		},
		CDIDevice: func(*testing.T) string {
			eng.AddCDIDevice("capcon.example/class=device")
			return "capcon.example/class=device"
		},
		VolumesOf: func(_ *testing.T, container string) []string { return eng.VolumesOf(container) },
		UnreachableImage: func(*testing.T) string {
			eng.FailNext("PullImage", engine.ErrUnavailable)
			return "unreachable/image:v1"
		},
	})
}

// tool does what the program in the suite's image does.
type tool struct {
	engine *simulated.Engine
}

func (p *tool) run(container string, command engine.Command) (engine.Output, error) {
	if command.Args[0] != "/tool" {
		return engine.Output{}, &engine.ExitError{Code: 127}
	}
	args := append(slices.Clone(command.Args[2:]), "", "")
	printed := func(text string, err error) (engine.Output, error) {
		if err != nil {
			return engine.Output{Stderr: []byte(err.Error() + "\n")}, &engine.ExitError{Code: 1}
		}
		return engine.Output{Stdout: []byte(text)}, nil
	}
	switch command.Args[1] {
	case "print":
		return engine.Output{Stdout: []byte(args[0]), Stderr: []byte(args[1])}, nil
	case "exit":
		code, err := strconv.Atoi(args[0])
		if err == nil && code != 0 {
			return engine.Output{}, &engine.ExitError{Code: code}
		}
		return printed("", err)
	case "terminal":
		size := command.Terminal.Size
		if strconv.Itoa(int(size.Columns)) != args[0] {
			size = <-command.Terminal.Sizes
		}
		return printed(fmt.Sprintf("%dx%d", size.Columns, size.Rows), nil)
	case "cat":
		if command.Stdin == nil {
			return engine.Output{}, nil
		}
		if command.Stdout != nil {
			_, err := io.Copy(command.Stdout, command.Stdin)
			return engine.Output{}, err
		}
		input, err := io.ReadAll(command.Stdin)
		return engine.Output{Stdout: input}, err
	case "big":
		size, err := strconv.Atoi(args[0])
		output, _ := printed(strings.Repeat("o", size), nil)
		output.Stderr = []byte(strings.Repeat("e", size))
		return output, err
	case "read":
		content, err := p.engine.ReadFile(container, args[0])
		return printed(string(content), err)
	case "write":
		return printed("", p.engine.WriteFile(container, args[0], []byte(args[1])))
	case "stat":
		return printed(p.stat(container, args[0]))
	case "kill":
		return printed("", p.kill(container, args[0]))
	}
	return printed("", fmt.Errorf("no command %s", command.Args[1]))
}

func (p *tool) stat(container, path string) (string, error) {
	header, err := p.engine.FileHeader(container, path)
	if err != nil {
		return "", err
	}
	switch header.Typeflag {
	case tar.TypeSymlink:
		return fmt.Sprintf("link %d:%d %s", header.Uid, header.Gid, header.Linkname), nil
	case tar.TypeDir:
		return fmt.Sprintf("directory %d:%d %04o", header.Uid, header.Gid, header.Mode), nil
	default:
		return fmt.Sprintf("file %d:%d %04o", header.Uid, header.Gid, header.Mode), nil
	}
}

// kill is about process 1, which survives SIGHUP.
func (p *tool) kill(container, signal string) error {
	switch signal {
	case "TERM":
		return p.engine.CrashContainer(container, 0, false)
	case "USR1":
		return p.engine.CrashContainer(container, 7, false)
	}
	return nil
}
