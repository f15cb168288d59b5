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
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/contract"
)

var update = flag.Bool("update", false, "write the expected reports")

func report() *contract.Report {
	rule := func(id string) contract.Rule {
		return contract.Rule{ID: id, Level: contract.Must, Page: "infra-machine", Section: "InfraMachine: provider ID", Title: "Rule " + id + "."}
	}
	return &contract.Report{
		Provider: "example", Started: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), Duration: 3 * time.Second,
		Results: []contract.Result{
			{Rule: rule("A1"), Status: contract.Pass, Duration: time.Second},
			{Rule: rule("A2"), Status: contract.Fail, Reason: "it has a | and\ntwo lines"},
			{Rule: rule("A3"), Status: contract.NotApplicable, Reason: "there is no pool"},
			{Rule: rule("A4"), Status: contract.Fail, Reason: "seen", Exception: "known"},
			{Rule: rule("A5"), Status: contract.Pass, Exception: "outdated"},
		},
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		write  func(*contract.Report, io.Writer) error
	}{
		"contract.md":  {"A page for readers, whose cells are on one line.", (*contract.Report).Markdown},
		"contract.xml": {"A JUnit file, in which only unexpected results fail.", (*contract.Report).JUnit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			if err := c.write(report(), &got); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	var got []string
	for _, result := range report().Failed() {
		got = append(got, result.ID)
	}
	if diff := cmp.Diff([]string{"A2", "A5"}, got); diff != "" {
		t.Errorf("a failure without an exception, and an exception without a failure (-want +got):\n%s", diff)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	want := "https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-machine#inframachine-provider-id"
	if got := report().Results[0].URL(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
