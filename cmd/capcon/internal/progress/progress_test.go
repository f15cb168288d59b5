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

package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is a time that only the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// story is what is shown one after the other, a second apart.
func story() [][]Step {
	return [][]Step{
		{{Name: "infrastructure", Detail: "network"}, {Name: "workers", Detail: "not created yet"}},
		{{Name: "infrastructure", Detail: "network"}, {Name: "workers", Detail: "not created yet"}},
		{
			{Name: "infrastructure", State: Done, Detail: "API server at 127.0.0.1:40001"},
			{Name: "workers", Detail: "0 of 1 available"},
			{Name: "demo-worker-1", Detail: "ImagePullFailed: no such image", State: Failed, Indented: true, Ended: "deleted"},
		},
		{
			{Name: "infrastructure", State: Done, Detail: "API server at 127.0.0.1:40001"},
			{Name: "workers", Detail: "0 of 1 available"},
		},
	}
}

func TestPipe(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &clock{now: time.Unix(0, 0)}
	display := NewPipe(&out, c.Now)
	for _, steps := range story() {
		display.Show(steps)
		c.pass(time.Second)
	}
	display.Close()
	want := `   0s waiting infrastructure: network
   0s waiting workers: not created yet
   2s done    infrastructure: API server at 127.0.0.1:40001
   2s waiting workers: 0 of 1 available
   2s failed  demo-worker-1: ImagePullFailed: no such image
   3s         demo-worker-1: deleted
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("A pipe gets a line per change and none without (-want +got):\n%s", diff)
	}
}

func TestPipeBoundsFigures(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &clock{now: time.Unix(0, 0)}
	display := NewPipe(&out, c.Now)
	for _, detail := range []string{"1 MB", "2 MB", "3 MB", "4 MB", "5 MB", "6 MB"} {
		display.Show([]Step{{Name: "images", Detail: detail, Volatile: true}})
		c.pass(2 * time.Second)
	}
	display.Show([]Step{{Name: "images", State: Done, Detail: "there"}})
	want := `   0s waiting images: 1 MB
   6s waiting images: 4 MB
  12s done    images: there
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("A figure appears every few seconds, the end immediately (-want +got):\n%s", diff)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &clock{now: time.Unix(0, 0)}
	const columns = 40
	display := NewTerminal(&out, Look{Title: "Making cluster demo", Size: func() (int, int) { return columns, 24 }}, c.Now)
	for _, steps := range story() {
		display.Show(steps)
		c.pass(time.Second)
	}
	display.Close()
	got := screen(out.String())
	want := []string{
		"Making cluster demo 3s",
		" ✓ infrastructure  API server at 127.0…",
		" · workers         0 of 1 available",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("The screen has the last picture and nothing of earlier ones (-want +got):\n%s", diff)
	}
	for _, line := range got {
		if n := len([]rune(line)); n > columns {
			t.Errorf("A line must not wrap, got %d columns: %s", n, line)
		}
	}
}

func TestTerminalWithoutColors(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &clock{now: time.Unix(0, 0)}
	display := NewTerminal(&out, Look{Title: "Creating", Size: func() (int, int) { return 80, 24 }, Plain: true}, c.Now)
	display.Show([]Step{{Name: "a", State: Done}, {Name: "b", State: Failed}, {Name: "c"}})
	for _, color := range []string{green, red, dim, plain} {
		if strings.Contains(out.String(), color) {
			t.Errorf("NO_COLOR asks for a picture without colors, got %q", out.String())
		}
	}
}

func TestTerminalStaysLowerThanTheScreen(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &clock{now: time.Unix(0, 0)}
	display := NewTerminal(&out, Look{Title: "Making", Size: func() (int, int) { return 80, 5 }}, c.Now)
	display.Show([]Step{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}})
	want := []string{"Making 0s", " · a  ", " · b  ", " … and 2 more"}
	if diff := cmp.Diff(want, screen(out.String())); diff != "" {
		t.Errorf("What has scrolled out cannot be drawn over (-want +got):\n%s", diff)
	}
}

func TestBoard(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &clock{now: time.Unix(0, 0)}
	board := NewBoard("Creating", Terminal{Out: &out, Size: func() (int, int) { return 0, 0 }, Now: c.Now})
	board.Waiting("images", "looking")
	board.Begin("images", "started again")
	board.Figure("images", "1 MB")
	board.Finished("images", "there")
	board.Failed("plane", "no space")
	board.Replace([]string{"images"}, Step{Name: "cluster", Detail: "network"})
	board.Nest(Step{Name: "cluster", Detail: "nodes"}, Step{Name: "a", Indented: true, Ended: "deleted"})
	board.Nest(Step{Name: "cluster", State: Done})
	board.Interrupt(func() { out.WriteString("question\n") })
	board.Close()
	want := `   0s waiting images: looking
   0s waiting images: 1 MB
   0s done    images: there
   0s failed  plane: no space
   0s waiting cluster: network
   0s waiting cluster: nodes
   0s waiting a: ` + `
   0s done    cluster: ` + `
   0s         a: deleted
question
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("Each change of a step is a line, and nothing else is (-want +got):\n%s", diff)
	}
}

// screen plays the escape sequences that the terminal display uses.
func screen(output string) []string {
	for _, color := range []string{green, red, dim, plain} {
		output = strings.ReplaceAll(output, color, "")
	}
	var lines []string
	for _, picture := range strings.Split(output, eraseBelow) {
		up := strings.Count(picture, "\x1b[")
		body, _, _ := strings.Cut(picture, "\x1b[")
		if up > 0 || body != "" {
			lines = strings.Split(strings.TrimSuffix(body, "\n"), "\n")
		}
	}
	return lines
}
