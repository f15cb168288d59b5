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
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A marker stands in a line of its own. What follows it is replaced, and may be missing.
var (
	quoteMarker = regexp.MustCompile("(?m)^<!-- quote (\\S+)(?: ([A-Za-z]\\S*))?(?: `([^`]+)`)?(?: `([^`]+)`)? -->\n(?:```[a-z]+\n(?s:.*?)\n```\n)?")
	rulesMarker = regexp.MustCompile(`(?m)^<!-- rules ([^>]+) -->\n(?:\|.*\n)*`)
	anyMarker   = regexp.MustCompile(`(?m)^<!-- (?:quote|rules)\b`)
)

// write returns a page with what it quotes of the repository.
func write(repository fs.FS, page []byte) ([]byte, error) {
	var problems []error
	markers := 0
	replace := func(text string, marker *regexp.Regexp, with func(match []string) (string, error)) string {
		return marker.ReplaceAllStringFunc(text, func(found string) string {
			markers++
			content, err := with(marker.FindStringSubmatch(found))
			if err != nil {
				problems = append(problems, err)
				return found
			}
			line, _, _ := strings.Cut(found, "\n")
			return line + "\n" + content
		})
	}
	text := replace(string(page), quoteMarker, func(match []string) (string, error) {
		q := quote{file: match[1], declaration: match[2], first: match[3], last: match[4]}
		lines, err := q.read(repository)
		if err != nil {
			return "", fmt.Errorf("quote %s %s: %w", q.file, q.declaration, err)
		}
		return fmt.Sprintf("```%s\n%s\n```\n", language(q.file), strings.Join(lines, "\n")), nil
	})
	text = replace(text, rulesMarker, func(match []string) (string, error) {
		return table(repository, strings.Fields(match[1]))
	})
	if all := len(anyMarker.FindAllString(text, -1)); all != markers {
		problems = append(problems, fmt.Errorf("%d of %d markers are not understood", all-markers, all))
	}
	return []byte(text), errors.Join(problems...)
}

func language(file string) string {
	switch extension := path.Ext(file); {
	case extension == ".patch", extension == ".diff":
		return "diff"
	case extension == ".yml":
		return "yaml"
	case extension != "":
		return extension[1:]
	case path.Base(file) == "Makefile":
		return "make"
	default:
		return strings.ToLower(path.Base(file))
	}
}

// quote is a region of a file. The first text or the declaration may be empty, and the last text.
type quote struct{ file, declaration, first, last string }

func (q quote) read(repository fs.FS) ([]string, error) {
	content, err := fs.ReadFile(repository, q.file)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	text := strings.TrimRight(string(content), "\n")
	if q.declaration != "" {
		if text, err = declaration(q.file, text, q.declaration); err != nil {
			return nil, err
		}
	}
	lines := strings.Split(text, "\n")
	if q.first == "" {
		if i := slices.IndexFunc(lines, isPatch); i >= 0 {
			return lines[i:], nil
		}
		return dedent(lines), nil
	}
	start, err := only(lines, q.first)
	if err != nil {
		return nil, err
	}
	end := blockEnd(lines, start)
	if q.last != "" {
		last, err := only(lines[start:], q.last)
		if err != nil {
			return nil, err
		}
		end = blockEnd(lines, start+last)
	}
	return dedent(lines[start:end]), nil
}

// only returns the index of the one line that starts with a text.
func only(lines []string, text string) (int, error) {
	found, count := 0, 0
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimLeft(line, "\t "), text) {
			found = i
			count++
		}
	}
	if count != 1 {
		return 0, fmt.Errorf("%d lines start with %q", count, text)
	}
	return found, nil
}

// blockEnd returns the end of the block that begins at a line: comments and what they are about, the
// lines below it that are indented, and the brackets that close it.
func blockEnd(lines []string, start int) int {
	depth := indentation(lines[start])
	end := start
	for end < len(lines)-1 && isComment(lines[end]) && indentation(lines[end+1]) == depth {
		end++
	}
	end++
	for i := end; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		switch {
		case trimmed == "":
		case indentation(lines[i]) > depth, indentation(lines[i]) == depth && strings.ContainsAny(trimmed[:1], "})]"):
			end = i + 1
		default:
			return end
		}
	}
	return end
}

// isPatch finds the first line of a patch; what is above it describes it.
func isPatch(line string) bool { return strings.HasPrefix(line, "--- a/") }

func isComment(line string) bool {
	line = strings.TrimLeft(line, "\t ")
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#")
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, "\t ")) }

// dedent removes the indentation that all lines have.
func dedent(lines []string) []string {
	depth := -1
	for _, line := range lines {
		if strings.TrimSpace(line) != "" && (depth < 0 || indentation(line) < depth) {
			depth = indentation(line)
		}
	}
	result := make([]string, len(lines))
	for i, line := range lines {
		result[i] = line[min(max(depth, 0), len(line)):]
	}
	return result
}
