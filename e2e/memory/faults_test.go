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

package memory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/e2e/memory"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestParseFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, text, names string
	}{
		"None":      {"Without a text, nothing is disturbed.", "", ""},
		"All":       {"Each fault has its rate.", "seed: 1\nrules: [{operation: '*', fault: Error, rate: 0.5}, {operation: Bootstrap, fault: Delay, rate: 1, duration: 2s}]", ""},
		"Unknown":   {"A field that does not exist is a mistake.", "rules: [{operation: '*', fault: Error, rates: 1}]", "rates"},
		"Fault":     {"The known faults are named.", "rules: [{operation: '*', fault: Panic}]", "rules[0].fault"},
		"Rate":      {"A rate is a part of 1.", "rules: [{operation: '*', fault: Lost, rate: 50}]", "rules[0].rate"},
		"Duration":  {"A delay has a duration.", "rules: [{operation: '*', fault: Delay, rate: 1}]", "rules[0].duration"},
		"Operation": {"What is disturbed must be said.", "rules: [{fault: Crash, rate: 1}]", "rules[0].operation"},
		"Known":     {"A method that does not exist is a mistake, and the known ones are named.", "rules: [{operation: CreateContaner, fault: Crash, rate: 1}]", "CreateContainer"},
		"Requests":  {"Operations of API servers and etcd are known.", "rules: [{operation: APIServer/*, fault: Error, rate: 1}, {operation: APIServer/list, fault: Lost, rate: 1}, {operation: Etcd/MemberList, fault: Crash, rate: 1}]", ""},
		"Watch":     {"A watch has no answer.", "rules: [{operation: APIServer/watch, fault: Lost, rate: 1}]", "Lost"},
		"Bootstrap": {"kubeadm has no answer either.", "rules: [{operation: Bootstrap, fault: Crash, rate: 1}]", "Error and Delay"},
		"YAML":      {"A text that is no YAML is refused.", "rules: [", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := memory.ParseFaults(tc.text)
			if valid := tc.names == "" && name != "YAML"; valid != (err == nil) || !valid && !errors.Is(err, memory.ErrFaultConfig) {
				t.Fatalf("\n%s\nParseFaults(...): %v", tc.reason, err)
			}
			if err != nil && !strings.Contains(err.Error(), tc.names) {
				t.Errorf("\n%s\nParseFaults(...): %v, want it to name %s", tc.reason, err, tc.names)
			}
		})
	}
}

// TestFaultsAreRepeated: the sequence of an operation depends on the seed, and not on other
// operations.
func TestFaultsAreRepeated(t *testing.T) {
	t.Parallel()
	run := func(seed uint64, others bool) (failed []bool) {
		host := must.Get(memory.NewHost(t.Context(), memory.Options{}))(t)
		host.Faults.Set(memory.FaultConfig{Seed: seed, Rules: []memory.FaultRule{{Operation: "*", Fault: memory.Error, Rate: 0.5}}})
		for range 64 {
			if others {
				_, _ = host.Engine.Info(t.Context())
			}
			_, err := host.Engine.ListContainers(t.Context(), nil)
			if err != nil && !errors.Is(err, memory.ErrInjected) {
				t.Fatal(err)
			}
			failed = append(failed, err != nil)
		}
		return failed
	}
	first := run(7, false)
	if diff := cmp.Diff(first, run(7, true)); diff != "" {
		t.Errorf("with the same seed: -first, +second:\n%s", diff)
	}
	if cmp.Equal(first, run(8, false)) {
		t.Error("another seed has the same faults")
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		fault   memory.Fault
		created bool
		status  engine.Status
	}{
		"Error": {"The call has no effect.", memory.Error, false, ""},
		"Lost":  {"The call has its effect.", memory.Lost, true, engine.StatusCreated},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := must.Get(memory.NewHost(t.Context(), memory.Options{}))(t)
			must.Get(host.Engine.InspectImage(t.Context(), "node:v1.36.3"))(t)
			host.Faults.Set(memory.FaultConfig{Rules: []memory.FaultRule{{Operation: "CreateContainer", Fault: tc.fault, Rate: 1}}})
			if _, err := host.Engine.CreateContainer(t.Context(), engine.Spec{Name: "a", Image: "node:v1.36.3"}); !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("\n%s\nCreateContainer(...): %v", tc.reason, err)
			}
			observed, err := host.Engine.Observe("a")
			if (err == nil) != tc.created || observed.Status != tc.status {
				t.Errorf("\n%s\nthe container is %q, %v", tc.reason, observed.Status, err)
			}
			if struck := host.Faults.Struck()[tc.fault]; struck != 1 {
				t.Errorf("\n%s\nit struck %d times", tc.reason, struck)
			}
		})
	}
}
