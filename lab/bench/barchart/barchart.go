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

// Package barchart draws the seconds of benchmarks.
package barchart

import (
	"fmt"
	"html"
	"strings"
)

// Bar is a row: its median is drawn as a bar, with a line from the lowest to the highest.
type Bar struct {
	Label                   string
	Lowest, Median, Highest float64
	// Ours are drawn in another color than what they are compared with.
	Ours bool
}

// Sizes of the picture, in pixels.
const (
	letter = 7
	width  = 600
	row    = 22
	height = 14
	margin = 60
)

// SVG returns the picture.
func SVG(bars []Bar) string {
	longest, label := 1.0, 0
	for _, bar := range bars {
		longest, label = max(longest, bar.Highest), max(label, len(bar.Label)*letter)
	}
	var text strings.Builder
	fmt.Fprintf(&text, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		label+width+margin, len(bars)*row)
	text.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	x := func(seconds float64) float64 { return float64(label) + seconds/longest*width }
	for i, bar := range bars {
		top, color := i*row, "#999999"
		if bar.Ours {
			color = "#3a9a5b"
		}
		fmt.Fprintf(&text, `<text x="4" y="%d">%s</text>`+"\n", top+height, html.EscapeString(bar.Label))
		fmt.Fprintf(&text, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", label, top+2, x(bar.Median)-float64(label), height, color)
		middle := top + 2 + height/2
		fmt.Fprintf(&text, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="black"/>`+"\n", x(bar.Lowest), middle, x(bar.Highest), middle)
		fmt.Fprintf(&text, `<text x="%.1f" y="%d">%.1f s</text>`+"\n", x(bar.Highest)+4, top+height, bar.Median)
	}
	text.WriteString("</svg>\n")
	return text.String()
}
