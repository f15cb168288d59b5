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

package bootstrap

import (
	"io"
	"time"
)

// State is how far a node's bootstrap is.
type State string

const (
	// NotStarted means that the node has written no record yet.
	NotStarted State = ""
	// Started means that the script runs, or was cut off and the node has not booted since.
	Started State = "started"
	// Done means that the whole script ended with exit code 0.
	Done State = "done"
	// Failed means that a step ended with another exit code. Nothing after it was run.
	Failed State = "failed"
	// Interrupted means that the node booted and found a bootstrap that had started and not ended. It was not repeated.
	Interrupted State = "interrupted"
)

// Result is what a node recorded about its bootstrap.
type Result struct {
	// State is how far it is. The states Done, Failed and Interrupted never change again.
	State State
	// Step is the last step that was begun, such as "write_files[2]" or "runcmd[3]", counted from 0 as the user's list.
	Step string
	// ExitCode is that of the step that failed; -1 when it is not known. It means something only when State is Failed.
	ExitCode int
	// LogTail is the end of the log when State is Failed or Interrupted. It may hold secrets: see [Redact].
	LogTail string
	// KubernetesUp says that the contract's sentinel file was seen: Kubernetes is up, and commands may still run.
	KubernetesUp bool
	// Changed is when the state was entered, by the node's clock; zero when it is not known.
	Changed time.Time
}

// ReadRecord reads the tar of [RecordPath] as an engine's archive download gives it. A nil reader, an empty tar and a
// record without a state are not an error: the bootstrap has not started. A download that raced with the script or was
// cut off gives what is certain, never Done by mistake. The node's root user may write anything there; what does not
// look like a record is an error that does not quote it.
func ReadRecord(r io.Reader) (Result, error) {
	return Result{}, errNotImplemented
}

// Message says in at most 1 KiB how the bootstrap stands: the step, the exit code and the last lines of the log, with
// the secrets (see [Config.Secrets]) and everything that looks like one removed.
func (r Result) Message(secrets ...string) string {
	return ""
}
