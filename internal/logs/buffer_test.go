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

package logs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// long log whose last line is that of the failure.
func long(last string) string {
	const line = "0123456789abcde\n"
	return "the oldest line\n" + strings.Repeat(line, MaxBytes/len(line)) + last
}

// The failure is at the end of a log: of one that exceeds the limit, the oldest lines are
// left out, and the first line says so.
func TestLongLogKeepsItsEnd(t *testing.T) {
	t.Parallel()
	text := long("the failure\n")
	for source, set := range map[Source]func(*testing.T, *simulated.Engine){
		Bootstrap: func(t *testing.T, e *simulated.Engine) {
			t.Helper()
			writeLog(t, e, text)
		},
		Console: func(_ *testing.T, e *simulated.Engine) { e.SetLog(container, text) },
		Journal: func(_ *testing.T, e *simulated.Engine) {
			e.HandleExec(func(string, engine.Command) (engine.Output, error) {
				return engine.Output{Stdout: []byte(text + cursorMark + "s=1\n")}, nil
			})
		},
	} {
		t.Run(string(source), func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			set(t, e)
			got, err := Log{Container: container, Source: source}.read(t.Context(), e, 0)
			if err != nil {
				t.Fatal(err)
			}
			if begin := "[older lines are omitted: the log exceeds 16 MiB]\n0123456789abcde\n"; !strings.HasPrefix(got, begin) {
				t.Errorf("it begins with %q, want %q", got[:len(begin)], begin)
			}
			if !strings.HasSuffix(got, "\nthe failure\n") {
				t.Errorf("it ends with %q", got[len(got)-20:])
			}
			if len(got) > MaxBytes+len(omitted) {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

// A log that grows beyond the limit while it is followed is followed further.
func TestFollowLongLog(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	next := Log{Container: container, Source: Bootstrap}.reader(e, 1)
	var got []string
	for _, end := range []string{"1\n", "1\n2\n3", "1\n2\n3\n"} {
		writeLog(t, e, long(end))
		text, err := next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	if want := `["1\n" "2\n" "3\n"]`; fmt.Sprintf("%q", got) != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

func TestBuffer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		pieces int
		piece  string
		want   string
	}{
		"Empty":    {reason: "Nothing is nothing.", want: ""},
		"Small":    {"All of it.", 3, "a\n", "a\na\na\n"},
		"Exact":    {"The limit is not exceeded.", MaxBytes / 16, strings.Repeat("x", 15) + "\n", strings.Repeat(strings.Repeat("x", 15)+"\n", MaxBytes/16)},
		"OnePiece": {"A piece that exceeds the limit alone.", 1, "secret" + strings.Repeat("x", MaxBytes-6) + "\nend\n", omitted + "end\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b Buffer
			for range tc.pieces {
				if n, err := b.Write([]byte(tc.piece)); n != len(tc.piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := b.Text(); got != tc.want {
				t.Errorf("%s\nGot %d bytes, want %d", tc.reason, len(got), len(tc.want))
			}
		})
	}
}
