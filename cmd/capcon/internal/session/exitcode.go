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

package session

// ExitNotYet is the exit code of a command that found a cluster in another state than the requested one.
const ExitNotYet = 4

// ExitCodeError ends a command with an exit code of its own.
type ExitCodeError struct {
	Code int
	// Err is what is printed, unless it is ErrReported.
	Err error
}

// Error implements error.
func (e *ExitCodeError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitCodeError) Unwrap() error { return e.Err }
