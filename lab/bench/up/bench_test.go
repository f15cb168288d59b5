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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResults(t *testing.T) {
	t.Parallel()
	b := bench{Seconds: map[string][]float64{
		floorUp: {19, 18, 20}, kindUp: {24, 25, 23}, capconUp: {20, 18, 30}, largeUp: {66, 70, 65}, kindDown: {1, 2}, capcDown: {3, 4, 2},
	}, Waits: map[string]map[string]float64{capconUp: {"this provider": 1.25}}}
	want := `| Seconds | Median | Lowest | Highest | Median ÷ kind's | Rounds |
|---|---|---|---|---|---|
| floor 1 + 1 | 19.0 | 18.0 | 20.0 | 0.79 | 19.0 18.0 20.0 |
| kind create 1 + 1 | 24.0 | 23.0 | 25.0 |  | 24.0 25.0 23.0 |
| capcon up 1 + 1 | 20.0 | 18.0 | 30.0 | 0.83 | 20.0 18.0 30.0 |
| capcon up 3 + 3 | 66.0 | 65.0 | 70.0 |  | 66.0 70.0 65.0 |
| kind delete 1 + 1 | 1.5 | 1.0 | 2.0 |  | 1.0 2.0 |
| capcon down 1 + 1 | 3.0 | 2.0 | 4.0 | 2.00 | 3.0 4.0 2.0 |
`
	if diff := cmp.Diff(want, b.table()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if want, waits := "| this provider | 1.2 | 0.0 | 0.0 | 0.0 |\n", b.waits(); !strings.Contains(waits, want) {
		t.Errorf("waits:\n%s\nwant the line %s", waits, want)
	}
}

func TestReadWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.json")
	write := func(name string) {
		t.Helper()
		err := os.WriteFile(path, []byte(`{"traceEvents": [
			{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Management plane"}},
			{"name": "Ready=True", "ph": "X", "pid": 1, "dur": 1},
			{"name": "process_name", "ph": "M", "pid": 2, "args": {"name": "Waited for"}},
			{"name": "capcon", "ph": "X", "pid": 2, "dur": 500000},
			{"name": "`+name+`", "ph": "X", "pid": 2, "dur": 1000000, "args": {"by": "x"}}
		]}`), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	write("capcon")
	waits, err := readWaits(path)
	if diff := cmp.Diff(map[string]float64{"capcon": 1.5}, waits); err != nil || diff != "" {
		t.Errorf("error %v, waits (-want +got):\n%s", err, diff)
	}
	write("another")
	if _, err := readWaits(path); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("a wait that has no row: %v", err)
	}
}
