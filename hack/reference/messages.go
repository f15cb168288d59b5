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
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// place of a message: a section of the page, a heading in it, the text.
type place struct{ section, heading, text string }

// messages of Go files, each with the files that have it.
type messages struct {
	files map[place][]string
	// constants of the package and the file that are read, and reasons of conditions, by name.
	constants, reasons map[string]string
	file               string
	// verb of a format; words of a sentence; texts and calls without messages; calls of a log.
	verb, words, noText, noCall, log *regexp.Regexp
}

const (
	conditionMessages = "Conditions"
	eventMessages     = "Events"
	validationErrors  = "Validation errors"
	capconMessages    = "capcon"
	logMessages       = "Logs of the manager and of the management plane"
	otherMessages     = "Other errors and details"
	failedSteps       = "Failed steps"
	unknown           = "…"
)

// messagePage lists the messages of the packages below the directories by where a user meets them.
func messagePage(directories ...string) (string, error) {
	m := messages{
		files: map[place][]string{}, reasons: map[string]string{},
		verb:   regexp.MustCompile(`%[-+# 0-9.*]*[a-zA-Z%]`),
		words:  regexp.MustCompile(`(?:^|[^<\w])[A-Za-z]+,? (?:.* )?[a-z]{2,}`),
		noText: regexp.MustCompile(`^[-#]|\$|\\r|ExecStartPre|^Error: |http-request|^if {|hash-type|^journalctl|^Usage: `),
		noCall: regexp.MustCompile(`(?i)flag|^set\.|^regexp|^strings\.|Says$|^time\.|\.V\(|^p\.run$|powerCommand|Fprint|WithName`),
		log:    regexp.MustCompile(`(?i)log.*\.(Info|Error)$`),
	}
	reasons, err := parser.ParseFile(token.NewFileSet(), "api/v1beta2/conditions.go", nil, 0)
	if err != nil {
		return "", fmt.Errorf("read reasons: %w", err)
	}
	ast.Inspect(reasons, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && strings.HasSuffix(spec.Names[0].Name, "Reason") {
			m.reasons["infrav1."+spec.Names[0].Name] = value(spec.Values[0], "Reason")
		}
		return true
	})
	for _, directory := range directories {
		if err := filepath.WalkDir(directory, m.readDirectory); err != nil {
			return "", fmt.Errorf("read messages: %w", err)
		}
	}
	return m.page()
}

func (m *messages) readDirectory(directory string, entry os.DirEntry, err error) error {
	switch {
	case err != nil || !entry.IsDir():
		return err
	case slices.Contains([]string{"enginetest", "simulated", "generate", "trace"}, entry.Name()):
		return filepath.SkipDir
	}
	names, err := filepath.Glob(filepath.Join(directory, "*.go"))
	m.constants = map[string]string{}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution); err != nil {
			return err
		}
		for _, declaration := range files[name].Decls {
			m.readConstants(declaration)
		}
	}
	for _, m.file = range slices.Sorted(maps.Keys(files)) {
		ast.PreorderStack(files[m.file], nil, m.read)
	}
	if directory == "." {
		return filepath.SkipAll // The others are named themselves.
	}
	return err
}

func (m *messages) readConstants(node ast.Node) {
	block, ok := node.(*ast.GenDecl)
	if !ok || block.Tok != token.CONST {
		return
	}
	for _, spec := range block.Specs {
		if constant, ok := spec.(*ast.ValueSpec); ok && len(constant.Values) == 1 {
			m.constants[constant.Names[0].Name] = m.text(constant.Values[0])
		}
	}
}

// read a node; false where nothing below it is a message of its own.
func (m *messages) read(node ast.Node, stack []ast.Node) bool {
	m.readConstants(node)
	switch node := node.(type) {
	case *ast.ImportSpec, *ast.Field:
		return false
	case *ast.CaseClause: // What it compares with is not said.
		for _, statement := range node.Body {
			ast.PreorderStack(statement, stack, m.read)
		}
		return false
	case *ast.KeyValueExpr:
		return !slices.Contains([]string{"Use", "Short", "Long", "Example", "Help"}, types.ExprString(node.Key))
	case *ast.CompositeLit:
		return node.Type == nil || types.ExprString(node.Type) != "[]string"
	case *ast.CallExpr:
		return !m.noCall.MatchString(types.ExprString(node.Fun))
	case *ast.BinaryExpr:
		return node.Op != token.ADD || !m.add(node, stack)
	case *ast.BasicLit:
		m.add(node, stack)
	}
	return true
}

// add the expression, if it is a message.
func (m *messages) add(expression ast.Expr, stack []ast.Node) bool {
	text := m.text(expression)
	if call, ok := stack[len(stack)-1].(*ast.CallExpr); ok {
		text = m.format(text, call.Args[slices.Index(call.Args, expression)+1:])
	}
	text = strings.Join(strings.Fields(text), " ")
	if !m.words.MatchString(text) || m.noText.MatchString(text) {
		return false
	}
	at := m.placeOf(text, stack)
	if !slices.Contains(m.files[at], m.file) {
		m.files[at] = append(m.files[at], m.file)
	}
	return true
}

// placeOf a message: by the call that gets it, or by its package.
func (m *messages) placeOf(text string, stack []ast.Node) place {
	directory := filepath.Dir(m.file)
	for _, node := range stack {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			continue
		}
		for _, argument := range call.Args {
			if reason, ok := m.reasons[types.ExprString(argument)]; ok {
				return place{conditionMessages, reason, text}
			}
		}
		switch name := types.ExprString(call.Fun); {
		case strings.HasSuffix(name, "Events.Eventf"):
			return place{eventMessages, strings.Trim(m.text(call.Args[3]), "<>"), text}
		case m.log.MatchString(name):
			return place{logMessages, directory, text}
		}
	}
	step, failed := strings.CutSuffix(text, ": "+unknown)
	switch {
	case failed && !strings.Contains(step, ";"):
		return place{failedSteps, "Steps", step}
	case directory == "internal/webhooks", directory == "cmd/capcon/internal/input":
		return place{validationErrors, directory, text}
	case strings.HasPrefix(directory, "cmd/capcon/"):
		return place{capconMessages, directory, text}
	}
	return place{otherMessages, directory, text}
}

// text of an expression: what is constant in it, and placeholders.
func (m *messages) text(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(expression.Value); err == nil {
			return text
		}
		return expression.Value
	case *ast.BinaryExpr:
		if expression.Op == token.ADD && strings.ContainsAny(types.ExprString(expression), "\"`") {
			return m.text(expression.X) + m.text(expression.Y)
		}
		return m.text(expression.X)
	case *ast.Ident:
		return cmp.Or(m.constants[expression.Name], placeholder(expression.Name))
	case *ast.SelectorExpr:
		return placeholder(expression.Sel.Name)
	case *ast.CallExpr:
		selector, isMethod := expression.Fun.(*ast.SelectorExpr)
		switch {
		case isMethod && selector.Sel.Name == "Sprintf":
			return m.format(m.text(expression.Args[0]), expression.Args[1:])
		case len(expression.Args) > 0:
			return m.text(expression.Args[0])
		case isMethod && slices.Contains([]string{"Error", "String", "Masked"}, selector.Sel.Name):
			return m.text(selector.X)
		}
		return m.text(expression.Fun)
	}
	return unknown
}

// format puts the texts of the arguments where the verbs are.
func (m *messages) format(text string, arguments []ast.Expr) string {
	return m.verb.ReplaceAllStringFunc(text, func(verb string) string {
		if verb == "%%" || len(arguments) == 0 {
			return strings.Replace(verb, "%%", "%", 1)
		}
		argument := m.text(arguments[0])
		arguments = arguments[1:]
		return argument
	})
}

// placeholder for a value: its name in the code, where that says something.
func placeholder(name string) string {
	switch {
	case name == "Program":
		return "capcon"
	case strings.HasPrefix(strings.ToLower(name), "err"), len(name) == 1:
		return unknown
	case unicode.IsUpper(rune(name[1])): // CPUs, ID
		return "<" + strings.ToLower(name) + ">"
	}
	return "<" + strings.ToLower(name[:1]) + name[1:] + ">"
}

// page has the sections in their order, with sorted headings and messages.
func (m *messages) page() (string, error) {
	troubleshooting, err := os.ReadFile("docs/troubleshooting.md")
	sorted := slices.SortedFunc(maps.Keys(m.files), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.heading, b.heading), cmp.Compare(strings.ToLower(a.text), strings.ToLower(b.text)), cmp.Compare(a.text, b.text))
	})
	var page strings.Builder
	for _, section := range []struct{ title, about string }{
		{conditionMessages, "By reason, which links to causes and remedies. `kubectl describe` and `capcon status` show them."},
		{eventMessages, "By reason. `kubectl describe` and `kubectl get events` show them."},
		{validationErrors, "Of webhooks ([examples](bad-input.md)), and of the arguments of `capcon`."},
		{capconMessages, "Progress, results and errors of the [commands](capcon.md)."},
		{logMessages, "At the default verbosity."},
		{otherMessages, "In messages of conditions, in logs, and in the output of `capcon`."},
		{failedSteps, "What errors begin with; the cause follows after a colon."},
	} {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n", section.title, section.about)
		heading := ""
		for _, at := range sorted {
			if at.section != section.title {
				continue
			}
			if at.heading != heading {
				heading = at.heading
				link := heading
				if bytes.Contains(troubleshooting, []byte("\n### `"+heading+"`\n")) {
					link = fmt.Sprintf("[%s](../troubleshooting.md#%s)", heading, strings.ToLower(heading))
				}
				fmt.Fprintf(&page, "\n### %s\n\n", link)
			}
			fmt.Fprintf(&page, "- `` %s `` (%s)\n", at.text, links(m.files[at]))
		}
	}
	return page.String(), err
}

// links to files, without line numbers: other changes of a file do not change the page.
func links(files []string) string {
	var links []string
	for _, file := range files {
		name := filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
		links = append(links, fmt.Sprintf("[%s](../../%s)", name, file))
	}
	return strings.Join(links, ", ")
}
