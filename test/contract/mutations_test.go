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

package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/test/contract"
)

// TestMutations makes the changes of the table, one after the other, and has
// the test of each rule see its own. The tree itself is not changed: a test is
// compiled with the changed file laid over it, and runs in a copy of the tree
// that has it.
//
// PICK is how many are taken at random, or all; SEED repeats a choice; ONLY
// takes those of one rule. Without PICK and ONLY it is skipped: it takes
// minutes. The API server that some tests need is found as that of test/env.
func TestMutations(t *testing.T) {
	pick, only := os.Getenv("PICK"), os.Getenv("ONLY")
	if pick == "" && only == "" {
		t.Skip(`compiles each test anew; run "make test-contract"`)
	}
	m := newMutator(t)
	seen := 0
	rules := choose(t, pick, only)
	for _, rule := range rules {
		name := rule.ID + " " + rule.Test
		began := time.Now()
		if err := m.try(t, rule.Proof); err != nil {
			t.Errorf("%s: %s\n%v", name, rule.Says, err)
			continue
		}
		seen++
		t.Logf("%-6s %s: %s sees the change of %s (%.0f s)", rule.ID, rule.Says, rule.Test, rule.File, time.Since(began).Seconds())
	}
	t.Logf("%d of %d changes are seen", seen, len(rules))
}

// choose the rules, in the order of the table.
func choose(t *testing.T, pick, only string) []contract.Rule {
	t.Helper()
	var rules []contract.Rule
	for _, rule := range contract.Rules() {
		if rule.Unproved == "" && (only == "" || only == rule.ID) {
			rules = append(rules, rule)
		}
	}
	if pick == "" || pick == "all" {
		return rules
	}
	count, err := strconv.Atoi(pick)
	must(t, err)
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // Any number is a seed.
	if given := os.Getenv("SEED"); given != "" {
		seed, err = strconv.ParseUint(given, 10, 64)
		must(t, err)
	}
	t.Logf("SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // Nobody is to be kept from guessing it.
	random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
	return rules[:min(count, len(rules))]
}

// mutator compiles and runs tests.
type mutator struct {
	// root of the tree and of its copy.
	root, copied string
	// scratch has test programs.
	scratch string
	// passed are the tests that pass as long as nothing is changed.
	passed map[string]bool
}

func newMutator(t *testing.T) *mutator {
	t.Helper()
	absolute, err := filepath.Abs(root)
	must(t, err)
	m := &mutator{root: absolute, copied: t.TempDir(), scratch: t.TempDir(), passed: map[string]bool{}}
	list := exec.CommandContext(t.Context(), "git", "-C", absolute, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	files, err := list.Output()
	must(t, err)
	for file := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(absolute, file))
		if errors.Is(err, os.ErrNotExist) {
			continue // Deleted, and not yet committed.
		}
		must(t, err)
		info, err := os.Stat(filepath.Join(absolute, file))
		must(t, err)
		target := filepath.Join(m.copied, file)
		must(t, os.MkdirAll(filepath.Dir(target), 0o755)) //nolint:gosec // As the tree.
		must(t, os.WriteFile(target, content, info.Mode().Perm()))
	}
	return m
}

// try returns why the test does not see the change; nil if it does.
func (m *mutator) try(t *testing.T, proof contract.Proof) error {
	t.Helper()
	original, err := os.ReadFile(filepath.Join(m.root, proof.File))
	must(t, err)
	if name := proof.Package + " " + proof.Test; !m.passed[name] {
		if output, err := m.run(t, proof, original); err != nil {
			return fmt.Errorf("without any change it does not pass: %w\n%s", err, output)
		}
		m.passed[name] = true
	}
	changed := bytes.Replace(original, []byte(proof.Old), []byte(proof.New), 1)
	output, err := m.run(t, proof, changed)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return errors.New("the test passes all the same")
	case !errors.As(err, &exit) || !strings.Contains(output, "--- FAIL: "):
		return fmt.Errorf("the test does not run: %w\n%s", err, output)
	}
	return nil
}

// run compiles and runs the test with the content in the place of the file.
func (m *mutator) run(t *testing.T, proof contract.Proof, content []byte) (string, error) {
	t.Helper()
	program, output, err := m.compile(t, proof, content)
	if err != nil {
		return output, err
	}
	target := filepath.Join(m.copied, proof.File)
	before, err := os.ReadFile(target)
	must(t, err)
	must(t, os.WriteFile(target, content, 0o600))
	defer func() { must(t, os.WriteFile(target, before, 0o600)) }()
	pattern := "^" + strings.ReplaceAll(proof.Test, "/", "$/^") + "$"
	run := exec.CommandContext(t.Context(), program, "-test.run", pattern, "-test.v", "-test.timeout=5m")
	run.Dir = filepath.Join(m.copied, proof.Package)
	said, err := run.CombinedOutput()
	if err == nil && !strings.Contains(string(said), "--- PASS: "+proof.Test+" ") {
		return string(said), errors.New("the test did not run")
	}
	return string(said), err
}

// compile returns the test program of a package with the content in the place
// of the file. That of the tree as it is, is kept.
func (m *mutator) compile(t *testing.T, proof contract.Proof, content []byte) (program, output string, err error) {
	t.Helper()
	program = filepath.Join(m.scratch, "changed")
	if original, err := os.ReadFile(filepath.Join(m.root, proof.File)); err == nil && bytes.Equal(original, content) {
		program = filepath.Join(m.scratch, strings.ReplaceAll(proof.Package, "/", "-")+".test")
		if _, err := os.Stat(program); err == nil {
			return program, "", nil
		}
	}
	laid, overlay := filepath.Join(m.scratch, "laid"), filepath.Join(m.scratch, "overlay.json")
	must(t, os.WriteFile(laid, content, 0o600))
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(m.root, proof.File): laid}})
	must(t, err)
	must(t, os.WriteFile(overlay, replaced, 0o600))
	// Without what debuggers need: linking is most of the time.
	command := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags=-s -w", "-overlay", overlay, "-o", program, "./"+proof.Package)
	command.Dir = m.root
	if said, err := command.CombinedOutput(); err != nil {
		return "", string(said), fmt.Errorf("compile: %s", err) //nolint:errorlint // So that it is not taken for a test that fails.
	}
	return program, "", nil
}
