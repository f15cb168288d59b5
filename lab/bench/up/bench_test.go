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
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestResults(t *testing.T) {
	t.Parallel()
	b := bench{Engine: "docker", Date: "2026-11-25", Commit: "abc", Machine: "2 cores", Seconds: map[string][]float64{
		floorUp: {19, 18, 20}, kindUp: {24, 25, 23}, capconUp: {20, 18, 30}, largeUp: {66, 70, 65}, kindDown: {1, 2}, capcDown: {3, 4, 2}, largeDown: {7, 8, 9},
	}, Waits: map[string]map[string]float64{capconUp: {"this provider": 1.25}}}
	_, table, _ := strings.Cut(b.page("docs/results/bench-docker"), "|---|---|---|---|---|---|\n")
	table, waits, _ := strings.Cut(table, "\n\n")
	table += "\n"
	want := `| floor 1 + 1 | 19.0 | 18.0 | 20.0 | 0.79 | 19.0, 18.0, 20.0 |
| kind create 1 + 1 | 24.0 | 23.0 | 25.0 |  | 24.0, 25.0, 23.0 |
| capcon up 1 + 1 | 20.0 | 18.0 | 30.0 | 0.83 | 20.0, 18.0, 30.0 |
| capcon up 3 + 3 | 66.0 | 65.0 | 70.0 |  | 66.0, 70.0, 65.0 |
| kind delete 1 + 1 | 1.5 | 1.0 | 2.0 |  | 1.0, 2.0 |
| capcon down 1 + 1 | 3.0 | 2.0 | 4.0 | 2.00 | 3.0, 4.0, 2.0 |
| capcon down 3 + 3 | 8.0 | 7.0 | 9.0 |  | 7.0, 8.0, 9.0 |
`
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	if want := "| this provider | 1.2 | 0.0 | 0.0 | 0.0 |\n"; !strings.Contains(waits, want) {
		t.Errorf("waits:\n%s\nwant the line %s", waits, want)
	}
	if rows := strings.Count(b.table(), "\n"); rows != 1+len(b.Seconds) {
		t.Errorf("the table has %d lines:\n%s", rows, b.table())
	}
	for decoder := xml.NewDecoder(strings.NewReader(b.picture())); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.json")
	write := func(name string) {
		t.Helper()
		must.Succeed(t, os.WriteFile(path, []byte(`{"traceEvents": [
			{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Management plane"}},
			{"name": "Ready=True", "ph": "X", "pid": 1, "dur": 1},
			{"name": "process_name", "ph": "M", "pid": 2, "args": {"name": "Waited for"}},
			{"name": "capcon", "ph": "X", "pid": 2, "dur": 500000},
			{"name": "`+name+`", "ph": "X", "pid": 2, "dur": 1000000, "args": {"by": "x"}}
		]}`), 0o600))
	}
	write("capcon")
	if diff := cmp.Diff(map[string]float64{"capcon": 1.5}, must.Get(readWaits(path))(t)); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	write("another")
	if _, err := readWaits(path); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("a wait that has no row: %v", err)
	}
}
