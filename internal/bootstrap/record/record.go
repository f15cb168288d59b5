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

// Package record reads what a node recorded about its bootstrap.
package record

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Paths in the node, which stay as long as its /var.
const (
	// Path is the directory to download for [Read].
	Path = "/var/lib/cluster-api-bootstrap/record"
	// LogPath is the file with everything the bootstrap printed.
	LogPath = "/var/lib/cluster-api-bootstrap/log"
)

// Limits of the record that a node keeps of its bootstrap. The node's root user may put anything there; what the
// provider's script writes is below 10 KiB.
const (
	// maxRecordBytes is the limit of the archive of a record. Of a larger one the beginning is used.
	// +limit
	maxRecordBytes = 1 << 20

	// maxRecordEntries is the limit of files in a record.
	// +limit
	maxRecordEntries = 64

	// maxRecordFileBytes is the limit of each file of a record. Of a larger one the beginning is used.
	// +limit
	maxRecordFileBytes = 64 << 10

	// maxMessageBytes is the limit of the message about a bootstrap that failed, the end of its log included:
	// conditions are read by users and kept in etcd.
	// +limit
	maxMessageBytes = 1 << 10
)

// State is how far a node's bootstrap is.
type State string

const (
	// NotStarted means that the node has written no record yet.
	NotStarted State = ""
	// Started means that the script runs, or was cut off and the node has not booted since.
	Started State = "started"
	// Done means that the whole script exited with code 0.
	Done State = "done"
	// Failed means that a step ended with another exit code. Nothing after it was run.
	Failed State = "failed"
	// Interrupted means that the node booted and found a bootstrap that had started and not ended. It was not repeated.
	Interrupted State = "interrupted"
)

// ErrRecord is returned for a record that no script of ours wrote.
var ErrRecord = errors.New("invalid bootstrap record")

// Result is what a node recorded about its bootstrap.
type Result struct {
	// State is how far it is.
	State State
	// Step is the last step that was started, such as "write_files[2]", "runcmd[3]" or "systemd.units[0]", counted from 0 as
	// the user's list.
	Step string
	// ExitCode is that of the step that failed; -1 when it is not known. It means something only when State is Failed.
	ExitCode int
	// LogTail is the end of the log when State is Failed or Interrupted. It may hold secrets.
	LogTail string
	// KubernetesUp says that the contract's sentinel file was seen: Kubernetes is up, and commands may still run.
	KubernetesUp bool
	// Changed is when the state was entered, by the node's clock; zero when it is not known.
	Changed time.Time
}

var validStep = regexp.MustCompile(`^[a-z_.]{1,32}\[\d{1,6}\]$`)

// Read reads the tar of [Path] as an engine's archive download gives it. A nil reader, an empty tar and a
// record without a state are not an error: the bootstrap has not started. A download that raced with the script or was
// cut off gives what is certain, never Done by mistake. The node's root user may write anything there; what does not
// look like a record is [ErrRecord], which does not quote it.
func Read(r io.Reader) (Result, error) {
	result := Result{ExitCode: -1}
	if r == nil {
		return result, nil
	}
	reader := tar.NewReader(io.LimitReader(r, maxRecordBytes))
	for range maxRecordEntries {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return result, nil
		}
		if err != nil {
			return result.cutOff(err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(reader, maxRecordFileBytes))
		if err != nil {
			return result.cutOff(err)
		}
		if err := result.read(path.Base(header.Name), strings.TrimRight(string(content), "\n"), header.ModTime); err != nil {
			return Result{ExitCode: -1}, err
		}
	}
	return Result{ExitCode: -1}, fmt.Errorf("%w: more than %d files", ErrRecord, maxRecordEntries)
}

// cutOff decides what a download is worth that ended too early. A file is used only when it was complete.
func (r Result) cutOff(err error) (Result, error) {
	if errors.Is(err, io.ErrUnexpectedEOF) && r.State != NotStarted {
		return r, nil
	}
	return Result{ExitCode: -1}, fmt.Errorf("read bootstrap record: %w", err)
}

func (r *Result) read(name, content string, changed time.Time) error {
	switch name {
	case "state":
		r.Changed = changed
		switch state := State(content); state {
		case Started, Done, Failed, Interrupted:
			r.State = state
		case NotStarted:
			// Emptied by a crash: it had started, and the next boot will say interrupted.
			r.State = Started
		default:
			return fmt.Errorf("%w: unknown state", ErrRecord)
		}
	case "state.step":
		if content != "" && !validStep.MatchString(content) {
			return fmt.Errorf("%w: invalid step name", ErrRecord)
		}
		r.Step = content
	case "state.exit-code":
		code, err := strconv.Atoi(content)
		if err != nil || code < 0 || code > 255 {
			return fmt.Errorf("%w: exit code is not a number from 0 to 255", ErrRecord)
		}
		r.ExitCode = code
	case "state.log-tail":
		r.LogTail = strings.ToValidUTF8(content, "\ufffd")
	case "state.kubernetes-up":
		r.KubernetesUp = true
	}
	return nil
}
