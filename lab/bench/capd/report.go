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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// record is what a run leaves for the next one.
type record struct {
	Results                                 results
	Troubles, Loads, Breakdowns, MeasuredAt []string
}

func (b *bench) recordPath() string {
	if b.has("idle") {
		return filepath.Join(b.artifacts, "record-idle.json")
	}
	return filepath.Join(b.artifacts, "record.json")
}

func (b *bench) load() error {
	content, err := os.ReadFile(b.recordPath())
	if err != nil {
		return fmt.Errorf("read the last run's record: %w", err)
	}
	if err := json.Unmarshal(content, &b.record); err != nil {
		return fmt.Errorf("read the last run's record: %w", err)
	}
	return nil
}

func (b *bench) save(path string) error {
	content, err := json.MarshalIndent(b.record, "", "  ")
	if err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	return nil
}

// report writes the table; after every round, so that an interrupted run keeps
// what it has.
func (b *bench) report(ctx context.Context, table string) error {
	var out strings.Builder
	out.WriteString(table)
	fmt.Fprintf(&out, "\nStarted %s; commit %s; %s. Load average at the begin and end of each round: %s.\n",
		strings.Join(b.MeasuredAt, ", "), b.commit(ctx), b.machine(ctx), strings.Join(b.Loads, ", "))
	if len(b.Troubles) > 0 {
		out.WriteString("\nWhat went wrong:\n\n")
		for _, trouble := range b.Troubles {
			fmt.Fprintf(&out, "- %s\n", strings.ReplaceAll(trouble, "\n", "; "))
		}
	}
	fmt.Print(out.String())
	if err := os.WriteFile(filepath.Join(b.artifacts, "engine-calls.txt"), []byte(strings.Join(b.Breakdowns, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("write the engine calls: %w", err)
	}
	return errors.Join(b.save(b.recordPath()), b.write(out.String()))
}

// marks enclose what is generated in a results file; the rest is by hand.
const beginMark, endMark = "<!-- begin of generated part -->", "<!-- end of generated part -->"

func (b *bench) write(text string) error {
	if b.output == "" {
		return nil
	}
	old, err := os.ReadFile(b.output)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	before, rest, begins := strings.Cut(string(old), beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return fmt.Errorf("find the generated part of %s: %w", b.output, os.ErrNotExist)
	}
	if err := os.WriteFile(b.output, []byte(before+beginMark+"\n\n"+text+"\n"+endMark+after), 0o644); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return b.save(strings.TrimSuffix(b.output, ".md") + ".json")
}

func (b *bench) commit(ctx context.Context) string {
	commit, err := command(ctx, "git", "-C", b.root, "rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := command(ctx, "git", "-C", b.root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/results"); err == nil && changed != "" {
		commit += " with changes"
	}
	return commit
}

// machine is what it was measured on.
func (b *bench) machine(ctx context.Context) string {
	engine, err := command(ctx, "docker", "info", "--format", "{{.NCPU}} cores, {{.OperatingSystem}}, Docker {{.ServerVersion}}, cgroup v{{.CgroupVersion}}")
	if err != nil {
		return "unknown machine"
	}
	return engine
}
