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

package contract

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Status of a rule.
type Status string

// The results of a rule.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	// NotApplicable: the rule is optional or conditional and the provider has none of it, or an input is
	// missing, or the rule was not reached because another one fails.
	NotApplicable Status = "not applicable"
)

// Result of one rule.
type Result struct {
	Rule
	Status Status
	// Reason is what was seen if the rule fails, and why it does not apply.
	Reason string
	// Exception is the reason why the provider is known to break the rule.
	Exception string
	Duration  time.Duration
}

// Failed reports whether the result is unexpected: a failure without an exception, or an exception
// without a failure.
func (r Result) Failed() bool { return (r.Status == Fail) != (r.Exception != "") }

// Report has the results of all rules, in the order of Rules.
type Report struct {
	Provider string
	Started  time.Time
	Duration time.Duration
	Results  []Result
}

// Failed are the unexpected results.
func (r *Report) Failed() []Result {
	var failed []Result
	for _, result := range r.Results {
		if result.Failed() {
			failed = append(failed, result)
		}
	}
	return failed
}

// Result of a rule, by its ID.
func (r *Report) Result(id string) (Result, bool) {
	for _, result := range r.Results {
		if result.ID == id {
			return result, true
		}
	}
	return Result{}, false
}

// Markdown writes the report as a page.
func (r *Report) Markdown(w io.Writer) error {
	count := map[Status]int{}
	for _, result := range r.Results {
		count[result.Status]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Cluster API contract v1beta2: %s\n\n", r.Provider)
	fmt.Fprintf(&b, "%d rules pass, %d fail, %d do not apply.\n\n", count[Pass], count[Fail], count[NotApplicable])
	b.WriteString("| Rule | Level | Requirement | Result | Seen, or reason |\n|---|---|---|---|---|\n")
	for _, result := range r.Results {
		reason := result.Reason
		if result.Exception != "" {
			reason = strings.TrimPrefix(reason+" Exception: "+result.Exception, " ")
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s | %s | %s |\n", result.ID, result.URL(), result.Level, result.Title, result.Status, cell(reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", "<br>").Replace(strings.TrimSpace(text))
}

type junitSuite struct {
	XMLName   xml.Name    `xml:"testsuite"`
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitMessage `xml:"failure,omitempty"`
	Skipped   *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as a test suite.
func (r *Report) JUnit(w io.Writer) error {
	suite := junitSuite{
		Name: "Cluster API contract v1beta2: " + r.Provider, Tests: len(r.Results),
		Time: seconds(r.Duration), Timestamp: r.Started.UTC().Format(time.RFC3339),
	}
	for _, result := range r.Results {
		c := junitCase{Name: result.ID + " " + result.Title, ClassName: result.Page + "." + result.Section, Time: seconds(result.Duration)}
		switch {
		case result.Failed():
			suite.Failures++
			c.Failure = &junitMessage{Message: result.Title, Text: result.explain()}
		case result.Status != Pass:
			suite.Skipped++
			c.Skipped = &junitMessage{Message: result.explain()}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	return encoder.Encode(suite)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// explain is the result in one text.
func (r Result) explain() string {
	switch {
	case r.Status == Fail && r.Exception != "":
		return fmt.Sprintf("known to fail (%s): %s", r.Exception, r.Reason)
	case r.Exception != "":
		return fmt.Sprintf("%s, but an exception is listed (%s): remove the exception", r.Status, r.Exception)
	default:
		return r.Reason
	}
}

// Write writes contract.xml and contract.md to a directory.
func (r *Report) Write(directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // A report is for all to read.
		return fmt.Errorf("create directory of the report: %w", err)
	}
	for name, write := range map[string]func(io.Writer) error{"contract.xml": r.JUnit, "contract.md": r.Markdown} {
		file, err := os.Create(filepath.Join(directory, name))
		if err != nil {
			return fmt.Errorf("create report: %w", err)
		}
		if err := errors.Join(write(file), file.Close()); err != nil {
			return fmt.Errorf("write report %s: %w", name, err)
		}
	}
	return nil
}
