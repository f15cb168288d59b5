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

package trace

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// Sizes of the picture, in pixels.
const (
	labelWidth = 330
	axisWidth  = 1000
	rowHeight  = 16
	barHeight  = 12
	topMargin  = 24
	// mostTicks on the time axis.
	mostTicks = 25
)

// The colors of bars and marks.
const (
	colorGood  = "#3a9a5b"
	colorWaits = "#e0a030"
	colorWork  = "#4a7ebb"
	colorMark  = "#222222"
)

// WriteSVG draws the events: a bar for each that has a duration, a mark for each other.
// What they are is shown where the mouse rests on one.
func WriteSVG(w io.Writer, events []Event) error {
	if len(events) == 0 {
		return writeText(w, `<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0"></svg>`)
	}
	begin, end := events[0].Begin, events[0].Begin
	for _, event := range events {
		for _, at := range []time.Time{event.Begin, event.End} {
			if at.After(end) {
				end = at
			}
		}
	}
	d := drawing{begin: begin, scale: axisWidth / max(end.Sub(begin).Seconds(), 1)}
	rows := rowsOf(events)
	y := topMargin
	for i, row := range rows {
		if i == 0 || rows[i-1].group != row.group {
			y += rowHeight
			d.text(4, y+barHeight, `font-weight="bold"`, row.group)
			y += rowHeight
		}
		d.row(y, row)
		y += rowHeight
	}
	d.axis(y+rowHeight, end)
	return writeText(w, fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+
			`<rect width="100%%" height="100%%" fill="white"/>%s</svg>`+"\n", labelWidth+axisWidth+rowHeight, y+rowHeight, d.body.String()))
}

func writeText(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write picture of the trace: %w", err)
	}
	return nil
}

// drawing of a picture.
type drawing struct {
	body  strings.Builder
	begin time.Time
	// scale is the width of a second.
	scale float64
}

func (d *drawing) x(at time.Time) float64 { return labelWidth + at.Sub(d.begin).Seconds()*d.scale }

func (d *drawing) text(x, y int, attributes, text string) {
	fmt.Fprintf(&d.body, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(text))
}

// row of a track: bars first, so that marks are seen on them.
func (d *drawing) row(y int, r row) {
	d.text(4, y+barHeight-2, "", r.track) //nolint:mnd // The text stands on a line two pixels above the end of the bar.
	for _, event := range r.events {
		if !event.End.IsZero() {
			d.rect(y, max(d.x(event.End)-d.x(event.Begin), 1), colorOf(event), event)
		}
	}
	for _, event := range r.events {
		if event.End.IsZero() {
			d.rect(y, 1, colorMark, event)
		}
	}
}

func (d *drawing) rect(y int, width float64, color string, event Event) {
	title := fmt.Sprintf("%.2f s: %s", event.Begin.Sub(d.begin).Seconds(), event.Name)
	if !event.End.IsZero() {
		title = fmt.Sprintf("%s, %.2f s", title, event.End.Sub(event.Begin).Seconds())
	}
	fmt.Fprintf(&d.body, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s</title></rect>`+"\n",
		d.x(event.Begin), y, width, barHeight, color, html.EscapeString(title))
}

func colorOf(event Event) string {
	switch {
	case strings.HasSuffix(event.Name, "=True"):
		return colorGood
	case strings.Contains(event.Name, "="):
		return colorWaits
	}
	return colorWork
}

// axis of seconds, with lines down to the last row.
func (d *drawing) axis(bottom int, end time.Time) {
	length := end.Sub(d.begin)
	distance := time.Second
	for _, longer := range []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 10 * time.Minute} {
		if length/distance > mostTicks {
			distance = longer
		}
	}
	for at := time.Duration(0); at <= length; at += distance {
		x := int(d.x(d.begin.Add(at)))
		fmt.Fprintf(&d.body, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#cccccc"/>`+"\n", x, topMargin, x, bottom)
		d.text(x, topMargin-rowHeight/2, `text-anchor="middle"`, fmt.Sprintf("%.0f s", at.Seconds()))
	}
}
