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

package supervise

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLineWriter(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("x\n", burstLines+5)
	cases := map[string]struct {
		reason string
		writes []string
		// last is written a second later.
		last string
		want string
	}{
		"Lines": {
			reason: "Each line carries the name, also when it comes in pieces.",
			writes: []string{"a", "b\nc\n"},
			last:   "d\n",
			want:   "p | ab\np | c\np | d\n",
		},
		"Partial": {
			reason: "What comes after the last newline appears when the process ends.",
			writes: []string{"a\nb"},
			want:   "p | a\np | b\n",
		},
		"Long": {
			reason: "A long line is cut, and the next is whole.",
			writes: []string{strings.Repeat("y", maxLineBytes), "yy\nz\n"},
			want:   "p | " + strings.Repeat("y", maxLineBytes) + "\np | z\n",
		},
		"Flood": {
			reason: "Beyond the budget lines are dropped and counted.",
			writes: []string{many},
			last:   "end\n",
			want:   strings.Repeat("p | x\n", burstLines) + "p | (5 lines dropped)\np | end\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &syncBuffer{}
			w := newLineWriter(out, "p")
			now := time.Now()
			w.now = func() time.Time { return now }
			for _, p := range tc.writes {
				write(t, w, p)
			}
			now = now.Add(time.Second)
			write(t, w, tc.last)
			w.flush()
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("\n%s\noutput: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}
