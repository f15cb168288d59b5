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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResults(t *testing.T) {
	t.Parallel()
	b := bench{Engine: "docker", Date: "2026-11-25", Commit: "abc", Machine: "2 cores", Seconds: map[string][]float64{
		floorUp: {19, 18, 20}, kindUp: {24, 25, 23}, capconUp: {20, 18, 30}, largeUp: {66, 70, 65}, kindDown: {1, 1, 1}, capcDown: {3, 4, 2}, largeDown: {7, 8, 9},
	}}
	_, table, _ := strings.Cut(b.page("docs/results/bench-docker"), "|---|---|---|---|---|---|\n")
	want := `| floor 1 + 1 | 19.0 | 18.0 | 20.0 | 0.79 | 19.0, 18.0, 20.0 |
| kind create 1 + 1 | 24.0 | 23.0 | 25.0 |  | 24.0, 25.0, 23.0 |
| capcon up 1 + 1 | 20.0 | 18.0 | 30.0 | 0.83 | 20.0, 18.0, 30.0 |
| capcon up 3 + 3 | 66.0 | 65.0 | 70.0 |  | 66.0, 70.0, 65.0 |
| kind delete 1 + 1 | 1.0 | 1.0 | 1.0 |  | 1.0, 1.0, 1.0 |
| capcon down 1 + 1 | 3.0 | 2.0 | 4.0 | 3.00 | 3.0, 4.0, 2.0 |
| capcon down 3 + 3 | 8.0 | 7.0 | 9.0 |  | 7.0, 8.0, 9.0 |
`
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
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
