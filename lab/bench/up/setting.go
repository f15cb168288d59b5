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
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// setting is what a run measures, and where.
type setting struct {
	Engine  string `json:"engine"`
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Machine string `json:"machine"`

	output string
}

func (s setting) capcon(ctx context.Context, args ...string) error {
	_, err := execute(s.command(ctx, "bin/capcon", append(args, "--engine", s.Engine)...))
	return err
}

func (s setting) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "ENGINE="+s.Engine, "KIND_EXPERIMENTAL_PROVIDER="+s.Engine)
	return command
}

func execute(command *exec.Cmd) (output string, err error) {
	var all bytes.Buffer
	command.Stdout, command.Stderr = &all, &all
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, all.String())
	}
	return all.String(), nil
}

// write all figures, for other programs.
func (s setting) write(results any) error {
	content, err := json.MarshalIndent(results, "", "  ")
	if err == nil {
		err = os.WriteFile(s.output, append(content, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
