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

// Package reader reads YAML and JSON that a bootstrap provider wrote into plain values, within limits.
//
// It walks nodes: decoding into structs puts values into errors, and loses the lines and the way numbers such as 0644 were
// written. Bootstrap data has private keys in it, so no error quotes the data.
package reader

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	yamlErrorLine = regexp.MustCompile(`line (\d+)`)
	shownName     = regexp.MustCompile(`^[\w.\[\]-]{0,64}$`)
)

// Reader reads the documents of one Secret. The zero value is ready for use.
type Reader struct {
	// LineOffset is added to the lines of a document to give those of the data.
	LineOffset int
	// unsupported collects the names of all fields that cannot be carried out.
	unsupported []string
	// decoded and entries are what has been spent of MaxDecodedBytes and maxEntries.
	decoded, entries int
}

// YAML returns the value of the only document in text; nil if there is none.
func (r *Reader) YAML(text string) (*yaml.Node, error) {
	var document yaml.Node
	if err := Unmarshal([]byte(text), &document); err != nil {
		return nil, r.yamlError(err)
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	return document.Content[0], nil
}

// yamlError keeps only the line of the YAML library's error, whose text may quote the data.
func (r *Reader) yamlError(err error) error {
	if tooLarge := (*InvalidError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	invalid := &InvalidError{Problem: "not valid YAML"}
	if match := yamlErrorLine.FindStringSubmatch(err.Error()); match != nil {
		if line, err := strconv.Atoi(match[1]); err == nil {
			invalid.Line = line + r.LineOffset
		}
	}
	return invalid
}

// Gunzip returns the decompressed data. Its errors do not quote the data.
func (r *Reader) Gunzip(data []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("invalid gzip header")
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(io.LimitReader(reader, int64(MaxDecodedBytes-r.decoded+1))); err != nil {
		return nil, errors.New("invalid gzip data")
	}
	return out.Bytes(), r.Spend(out.Len())
}

// Spend counts bytes that were decoded from the Secret.
func (r *Reader) Spend(n int) error {
	if r.decoded += n; r.decoded > MaxDecodedBytes {
		return ErrTooLarge
	}
	return nil
}

// Visit counts a key or an item that is read.
func (r *Reader) Visit(node *yaml.Node) error {
	if r.entries++; r.entries > maxEntries {
		return r.Invalid(node, "exceeds the limit of %d entries after aliases and merge keys are expanded", maxEntries)
	}
	return nil
}

// Invalid is an *InvalidError about a node.
func (r *Reader) Invalid(node *yaml.Node, format string, args ...any) error {
	return &InvalidError{Line: node.Line + r.LineOffset, Problem: fmt.Sprintf(format, args...)}
}

// Refuse notes a field that is not supported, and details that are safe to show. Names are keys of the data and may be
// anything: what does not look like one is not repeated.
func (r *Reader) Refuse(name string, details ...string) {
	if !shownName.MatchString(name) {
		name = "(invalid module name)"
	}
	details = slices.DeleteFunc(details, func(detail string) bool { return detail == "" })
	r.unsupported = append(r.unsupported, strings.Join(append([]string{name}, details...), " "))
}

// RefuseField notes a field that is not supported, whatever its value.
func (r *Reader) RefuseField(_ *yaml.Node, path string) error {
	r.Refuse(path)
	return nil
}

// Refused is the error that names all refused fields.
func (r *Reader) Refused() error {
	if len(r.unsupported) == 0 {
		return nil
	}
	slices.Sort(r.unsupported)
	return &UnsupportedError{Modules: slices.Compact(r.unsupported)}
}

// Text returns a scalar as it was written. It may span lines; it never holds a NUL, which no file name and no command
// can hold.
func (r *Reader) Text(node *yaml.Node, path string) (string, error) {
	value, err := r.Content(node, path)
	if err == nil && strings.ContainsRune(value, 0) {
		return "", r.Invalid(node, "%s contains a NUL character", path)
	}
	return value, err
}

// Content returns a scalar as it was written, !!binary ones decoded. An alias is paid for each time it is used.
func (r *Reader) Content(node *yaml.Node, path string) (string, error) {
	node = Deref(node)
	if IsNull(node) {
		return "", nil
	}
	if node.Kind != yaml.ScalarNode {
		return "", r.Invalid(node, "%s is not a string", path)
	}
	if err := r.Spend(len(node.Value)); err != nil {
		return "", r.Invalid(node, "%s: %v", path, err)
	}
	if node.ShortTag() != "!!binary" {
		return node.Value, nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(node.Value), ""))
	if err != nil {
		return "", r.Invalid(node, "%s is not valid base64", path)
	}
	return string(decoded), nil
}

// Line returns a scalar that must be on one line and hold no control character, so that it cannot add a line to a file
// it ends up in.
func (r *Reader) Line(node *yaml.Node, path string) (string, error) {
	value, err := r.Text(node, path)
	if err == nil && strings.ContainsFunc(value, IsControl) {
		return "", r.Invalid(node, "%s contains a control character", path)
	}
	return value, err
}

// IsControl reports whether a line must not have the character.
func IsControl(r rune) bool { return r < 0x20 || r == 0x7f }

// Lines reads a string or a list of strings, each on one line. Empty ones are left out.
func (r *Reader) Lines(node *yaml.Node, path string) ([]string, error) {
	items := []*yaml.Node{node}
	if Deref(node).Kind == yaml.SequenceNode {
		items = Deref(node).Content
	}
	var lines []string
	for _, item := range items {
		line, err := r.Line(item, path)
		if err := cmp.Or(r.Visit(item), err); err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// Flag returns a boolean.
func (r *Reader) Flag(node *yaml.Node, path string) (bool, error) {
	if IsNull(Deref(node)) {
		return false, nil
	}
	value, ok := Boolean(node)
	if !ok {
		return false, r.Invalid(node, "%s is not true or false", path)
	}
	return value, nil
}
