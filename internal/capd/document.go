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

package capd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document of a file.
type document struct {
	file string
	line int // of its first line in the file
	text string
	// root is nil where the document has only comments; before is how it was encoded then.
	root   *yaml.Node
	before string
}

// split a file at the lines that separate documents, which are left out.
func split(file File) []*document {
	var found []*document
	var text strings.Builder
	start := 1
	for i, line := range strings.SplitAfter(file.Content, "\n") {
		if trimmed := strings.TrimRight(line, " \t\r\n"); trimmed == "---" || strings.HasPrefix(trimmed, "--- #") {
			found = append(found, &document{file: file.Name, line: start, text: text.String()})
			text.Reset()
			start = i + 2
			continue
		}
		text.WriteString(line)
	}
	return append(found, &document{file: file.Name, line: start, text: text.String()})
}

func (d *document) parse(words *variables) error {
	roots, err := decode(words.mask(d.text))
	if err != nil {
		return fmt.Errorf("parse the document at %s:%d: %w", d.file, d.line, err)
	}
	if len(roots) == 0 {
		return nil
	}
	d.root = roots[0]
	var errs []error
	visit(d.root, func(node *yaml.Node) { errs = append(errs, d.check(node)) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	d.before, err = encode(d.root)
	return err
}

// check a node for what would be lost or would stay invalid.
func (d *document) check(node *yaml.Node) error {
	refuse := func(at *yaml.Node, format string, values ...any) error {
		return fmt.Errorf("%s:%d: %s", d.file, d.at(at), fmt.Sprintf(format, values...))
	}
	if node.Kind == yaml.AliasNode {
		return refuse(node, "aliases are not supported; replace *%s with the value of its anchor", node.Value)
	}
	if node.Kind != yaml.MappingNode {
		return nil
	}
	var errs []error
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		first, repeated := lines[key.Value]
		switch {
		case key.Tag == "!!merge":
			errs = append(errs, refuse(key, "merge keys are not supported; replace << with the fields of its value"))
		case repeated:
			errs = append(errs, refuse(key, "key %q is in line %d already; remove one of them", key.Value, first))
		default:
			lines[key.Value] = d.at(key)
		}
	}
	return errors.Join(errs...)
}

// render the document: as it was written, if nothing of it has changed.
func (d *document) render(words *variables) (string, error) {
	if d.root == nil {
		return d.text, nil
	}
	text, err := encode(d.root)
	if err != nil || text == d.before {
		return d.text, err
	}
	return words.restore(text), nil
}

func (d *document) at(node *yaml.Node) int { return d.line + max(node.Line, 1) - 1 }

// decode all documents of a text.
func decode(text string) ([]*yaml.Node, error) {
	var roots []*yaml.Node
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		parsed := &yaml.Node{}
		err := decoder.Decode(parsed)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return nil, err
		}
		if parsed.HeadComment != "" || parsed.FootComment != "" {
			first := parsed.Content[0]
			first.HeadComment = strings.TrimSpace(parsed.HeadComment + "\n\n" + first.HeadComment)
			first.FootComment = strings.TrimSpace(first.FootComment + "\n\n" + parsed.FootComment)
		}
		roots = append(roots, parsed.Content...)
	}
}

func encode(node *yaml.Node) (string, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(node); err != nil {
		return "", fmt.Errorf("encode YAML: %w", err)
	}
	return text.String(), nil
}

// variables of clusterctl, such as ${NAME:=default}. YAML refuses them in places: while a
// document is parsed, there are words in place of them.
type variables struct{ uses []string }

var (
	// variable has no other variable in it.
	variable = regexp.MustCompile(`\$\{[^{}\n]*\}`)
	masked   = regexp.MustCompile(`capconVariable(\d+)Ends`)
	// emptyDefault is a variable with an empty list as its default.
	emptyDefault = regexp.MustCompile(`^(\$\{\s*\w+\s*:?[-=])\[\s*\](\s*\})$`)
)

func (v *variables) mask(text string) string {
	for variable.MatchString(text) {
		text = variable.ReplaceAllStringFunc(text, v.word)
	}
	return text
}

func (v *variables) word(use string) string {
	v.uses = append(v.uses, use)
	return fmt.Sprintf("capconVariable%dEnds", len(v.uses)-1)
}

func (v *variables) restore(text string) string {
	for masked.MatchString(text) {
		text = masked.ReplaceAllStringFunc(text, func(word string) string {
			i, err := strconv.Atoi(masked.FindStringSubmatch(word)[1])
			if err != nil || i >= len(v.uses) {
				return ""
			}
			return v.uses[i]
		})
	}
	return text
}

// nullDefault replaces an empty list as the default of a variable with null: this provider's
// API accepts no empty lists.
func (v *variables) nullDefault(node *yaml.Node) {
	if use := v.restore(node.Value); node.Kind == yaml.ScalarNode && emptyDefault.MatchString(use) {
		node.Value = v.word(emptyDefault.ReplaceAllString(use, "${1}null${2}"))
	}
}
