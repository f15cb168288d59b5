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

package record

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

// messageLines is how many lines of a log a message repeats.
const messageLines = 10

var escapeSequence = regexp.MustCompile(`\x1b\[[0-9;:?]*[A-Za-z]`)

// Message says in at most 1 KiB how the bootstrap stands: the step, the exit code and the last lines of the log, with
// the secrets and everything that looks like one removed.
func (r Result) Message(secrets ...string) string {
	switch r.State {
	case NotStarted:
		return "Bootstrap has not started"
	case Started:
		return r.progress()
	case Done:
		return "Bootstrap completed"
	case Failed:
		code := "unknown exit code"
		if r.ExitCode >= 0 {
			code = fmt.Sprintf("exit code %d", r.ExitCode)
		}
		return withLog(fmt.Sprintf("Bootstrap failed at step %s with %s", r.stepOrStart(), code), r.stepLog(), secrets)
	case Interrupted:
		return withLog(fmt.Sprintf("Bootstrap was interrupted at step %s", r.stepOrStart()), r.stepLog(), secrets)
	default:
		return "Bootstrap status is unknown"
	}
}

func (r Result) progress() string {
	message := "Bootstrap is running, at step " + r.stepOrStart()
	if r.KubernetesUp {
		message += "; Kubernetes is up"
	}
	return message
}

func (r Result) stepOrStart() string {
	if r.Step == "" {
		return "start"
	}
	return r.Step
}

// stepLog returns what the last step printed, without the escape sequences that color it. They go before redaction:
// they may stand in the middle of a secret.
func (r Result) stepLog() string {
	log := escapeSequence.ReplaceAllString(r.LogTail, "")
	mark := "bootstrap: " + r.Step
	if i := strings.LastIndex("\n"+log+"\n", "\n"+mark+"\n"); i >= 0 {
		return strings.TrimPrefix(log[i:], mark)
	}
	return log
}

// withLog appends the end of a log that is left after redaction and fits. The whole log is redacted first: a secret
// that spans lines is not recognized in a part of it.
func withLog(head, log string, secrets []string) string {
	log = strings.Map(printable, redact.Text(log, secrets...))
	var kept []string
	for line := range strings.SplitSeq(log, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	kept = kept[max(0, len(kept)-messageLines):]
	tail := strings.Join(kept, "\n")
	if tail == "" {
		return head
	}
	head += "; last lines of the log: "
	if room := maxMessageBytes - len(head); len(tail) > room {
		const mark = "…"
		cut := len(tail) - room + len(mark)
		for cut < len(tail) && !utf8.RuneStart(tail[cut]) {
			cut++
		}
		tail = mark + tail[cut:]
	}
	return head + tail
}

// printable drops control characters, which terminals would carry out.
func printable(r rune) rune {
	if r == '\t' {
		return ' '
	}
	if r != '\n' && (r < 0x20 || r == 0x7f) {
		return -1
	}
	return r
}
